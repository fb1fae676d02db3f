"""Stores of tests, each with a bucket of its own unless one is named."""

from __future__ import annotations

import uuid

from classifeed_common.blobs import BlobStore
from classifeed_common.embedded.s3 import EmbeddedS3


def make_store(s3: EmbeddedS3, bucket: str = "", owner: str = "", endpoint: str = "") -> BlobStore:
    """Return a store that is not opened yet.

    Args:
        s3: the server.
        bucket: its bucket; a new one unless named.
        owner: whose files it has.
        endpoint: where the server is reached, such as through a proxy.
    """
    return BlobStore(
        endpoint=endpoint or s3.endpoint,
        access_key=s3.access_key,
        secret_key=s3.secret_key,
        bucket=bucket or f"t-{uuid.uuid4().hex[:12]}",
        owner=owner,
    )

"""Stores for tests; each has a separate bucket by default."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from classifeed_common.blobs import BlobStore
from classifeed_devkit.embedded.s3 import EmbeddedS3


def make_store(s3: EmbeddedS3, bucket: str = "", owner: str = "", endpoint: str = "") -> BlobStore:
    """Return a store that is not opened yet.

    Args:
        s3: the server.
        bucket: name of the bucket; empty: a new one.
        owner: owner of its files.
        endpoint: URL of the server, for example through a proxy; empty: the server's.
    """
    return BlobStore(
        endpoint=endpoint or s3.endpoint,
        access_key=s3.access_key,
        secret_key=s3.secret_key,
        bucket=bucket or f"t-{uuid.uuid4().hex[:12]}",
        owner=owner,
    )


@asynccontextmanager
async def open_store(s3: EmbeddedS3, bucket: str = "", owner: str = "", endpoint: str = "") -> AsyncIterator[BlobStore]:
    """Open a store of `make_store` during the block."""
    store = make_store(s3, bucket, owner, endpoint)
    await store.open()
    try:
        yield store
    finally:
        await store.close()

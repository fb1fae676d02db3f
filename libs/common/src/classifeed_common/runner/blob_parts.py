"""The file store of a service, from its settings.

Separate from `parts` because its client takes 0.2 s to import, and most services have no files.
"""

from __future__ import annotations

from classifeed_common.blobs import BlobStore
from classifeed_common.settings import ServiceSettings


def blobs_of(settings: ServiceSettings, *, bucket: str = "") -> BlobStore:
    """Return the store of files, with the service as their owner.

    Args:
        settings: settings of the service.
        bucket: bucket of this service only; empty: the bucket that services share.
    """
    return BlobStore(
        endpoint=settings.s3_endpoint,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
        bucket=bucket or settings.s3_bucket,
        owner=settings.service_name(),
    )

"""Where the snapshots of a service come from, by its settings; apart from `parts`, as few services have one."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from classifeed_common.blobs.client import S3Client
from classifeed_common.settings import ServiceSettings
from classifeed_common.snapshot import FileSource, PackagedSource, Source
from classifeed_common.snapshot.s3_source import S3Source


def source_of(settings: ServiceSettings, location: str, default: PackagedSource) -> Source:
    """Return where a snapshot comes from.

    Args:
        settings: of the service, for S3.
        location: a path, or `s3://<bucket>/<key>`; empty: what lies in the wheel.
        default: that.
    """
    if not location:
        return default
    parts = urlsplit(location)
    if parts.scheme != "s3":
        return FileSource(Path(location))
    secret = settings.s3_secret_key.get_secret_value()
    client = S3Client(settings.s3_endpoint, settings.s3_access_key, secret, threads=1, retries=0)
    return S3Source(client, parts.netloc, parts.path.removeprefix("/"))

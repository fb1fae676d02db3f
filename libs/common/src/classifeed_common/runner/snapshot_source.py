"""The source of a service's snapshots, from its settings. Separate from `parts`: few services have snapshots."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from classifeed_common.blobs.client import S3Client
from classifeed_common.settings import ServiceSettings
from classifeed_common.snapshot import FileSource, PackagedSource, Source
from classifeed_common.snapshot.s3_source import S3Source


def source_of(settings: ServiceSettings, location: str, default: PackagedSource) -> Source:
    """Return the source of a snapshot.

    Args:
        settings: settings of the service, for S3.
        location: a path, or `s3://<bucket>/<key>`; empty: the default.
        default: source in the wheel.
    """
    if not location:
        return default
    parts = urlsplit(location)
    if parts.scheme != "s3":
        return FileSource(Path(location))
    secret = settings.s3_secret_key.get_secret_value()
    client = S3Client(settings.s3_endpoint, settings.s3_access_key, secret, threads=1, retries=0)
    return S3Source(client, parts.netloc, parts.path.removeprefix("/"))

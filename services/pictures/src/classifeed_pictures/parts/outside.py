"""Clients of the hosts of pictures, of the bucket, and of the replica."""

from __future__ import annotations

from typing import Final

from classifeed_common.blobs.client import S3Client
from classifeed_common.db import Database
from classifeed_common.fetch import AddressGuard, FetchLimits, KeepAlive
from classifeed_common.fetch.faults import PICTURE_FIXES
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostLimits, HostPolicy
from classifeed_common.runner.parts import database_of
from classifeed_pictures.parts.tuning import Tuning
from classifeed_pictures.settings import PicturesSettings

_LISTINGS: Final = 2
_REDIRECTS: Final = 3
_KEEP: Final = KeepAlive(idle_s=15, per_host=2, overall=100)


def host_policy(settings: PicturesSettings) -> HostPolicy:
    """Return the limits of requests to a host, over all processes."""
    return HostPolicy(
        first_rate=settings.host_first_rate,
        highest_rate=settings.host_highest_rate,
        at_a_time=settings.downloads_per_host,
    )


def fetcher_of(settings: PicturesSettings, tuning: Tuning, hosts: HostLimits) -> Fetcher:
    """Return the HTTP client for untrusted URLs, with SSRF protection."""
    return Fetcher(
        guard=AddressGuard(allow_loopback=settings.allow_loopback),
        limits=FetchLimits(
            max_bytes=settings.download_max_bytes, total_s=tuning.download_total_s, redirects=_REDIRECTS
        ),
        keep=_KEEP,
        permits=hosts,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
        user_agent="Classifeed/0.1 (+pictures)",
        fixes=PICTURE_FIXES,
    )


def bucket_client(settings: PicturesSettings) -> S3Client:
    """Return the client for the other objects in the bucket of the pictures."""
    return S3Client(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key.get_secret_value(),
        threads=_LISTINGS,
        retries=2,
    )


def replica_of(settings: PicturesSettings) -> Database | None:
    """Return the database from which passes read states, if it is a replica."""
    if not settings.replica_dsn.get_secret_value():
        return None
    return database_of(settings.model_copy(update={"dsn": settings.replica_dsn}))

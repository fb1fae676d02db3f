"""Downloads a picture and stores it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from classifeed.pictures.v1.orders_pb2 import DownloadOrder, Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.errors import ResourceExhausted
from classifeed_common.fetch import Fetched, FetchFailed, FetchRequest, NotModified
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.spool import run_folder
from classifeed_imaging.decoder import Decoder
from classifeed_imaging.faults import DecodeFailed
from classifeed_pictures.app.files.check_robots import CheckRobots
from classifeed_pictures.app.files.copy_picture import unknown_namespace
from classifeed_pictures.app.files.specify_sizes import specify_sizes
from classifeed_pictures.app.files.store_picture import Begin, Source, StorePicture
from classifeed_pictures.domain.lifecycle.refreshing import promised_s
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX, forbids_showing
from classifeed_pictures.domain.namespaces import Namespace
from classifeed_pictures.store.files.namespaces import find_namespace


@dataclass(frozen=True, slots=True)
class Loading:
    """The outcome of an order.

    Attributes:
        outcome: the stored picture, the failure, or that the held picture is still current.
        fresh_for_s: seconds for which the host promises no change; 0: no promise.
    """

    outcome: PictureInfo | LoadFailure | Unchanged
    fresh_for_s: int = 0


class DownloadPicture:
    """Downloads, decodes and stores pictures.

    Args:
        database: database with the namespaces.
        fetcher: HTTP client for untrusted URLs, with SSRF protection.
        decode: decoder of pictures.
        store: use case that stores a decoded picture.
        clock: clock for the time of a retry.
        spool_dir: folder for downloads; files of a killed process are removed at the next start.
        check_robots: checks robots.txt of hosts; None: robots.txt is ignored.
    """

    def __init__(
        self,
        database: Database,
        fetcher: Fetcher,
        decode: Decoder,
        store: StorePicture,
        clock: Clock,
        *,
        spool_dir: Path,
        check_robots: CheckRobots | None = None,
    ) -> None:
        self._database = database
        self._fetcher = fetcher
        self._decode = decode
        self._store = store
        self._clock = clock
        self._spool_dir = spool_dir
        self._check_robots = check_robots

    async def __call__(self, order: DownloadOrder, *, begin: Begin | None = None) -> Loading:
        """Return the stored picture, the failure, or that the held picture is still current.

        Storing the same picture again is idempotent.

        Args:
            order: the download.
            begin: begins the transaction that records the picture; None: one of the database.

        Raises:
            RulesPending: robots.txt of the host is being fetched; retry soon.
            HostPaused: the host accepts no requests for a while.
            Unavailable: the object store or the database does not respond; retry.
        """
        async with self._database.connection() as connection:
            namespace = await find_namespace(connection, order.namespace)
        if namespace is None:
            return Loading(unknown_namespace(order.namespace))
        if self._check_robots is not None and (refusal := await self._check_robots(order.url)) is not None:
            return Loading(refusal)
        request = FetchRequest(order.url, etag=order.held.source_etag, last_modified=order.held.source_last_modified)
        with run_folder(self._spool_dir) as folder:
            path = folder / "picture"
            try:
                fetched = await self._fetcher.fetch(request, path)
            except FetchFailed as failed:
                return Loading(self._failure(failed))
            if forbids_showing(fetched.robots_tag):
                return Loading(_not_to_be_shown(fetched.final_url))
            fresh_for_s = promised_s(fetched.cache_control)
            if isinstance(fetched, NotModified) or (order.HasField("held") and _is_same(fetched, order.held)):
                unchanged = Unchanged(source_etag=fetched.etag, source_last_modified=fetched.last_modified)
                return Loading(unchanged, fresh_for_s)
            source = Source(order.url_hash, fetched.etag, fetched.last_modified, bytes.fromhex(fetched.sha256))
            return Loading(await self._keep(order, namespace, path, source, begin), fresh_for_s)

    async def _keep(
        self, order: DownloadOrder, namespace: Namespace, path: Path, source: Source, begin: Begin | None
    ) -> PictureInfo | LoadFailure:
        try:
            decoded = await self._decode.decode(path, specify_sizes(namespace), namespace.formats)
            return await self._store(source, namespace, decoded, attempt=order.attempt, begin=begin)
        except DecodeFailed as failed:
            return LoadFailure(code=failed.code, message=failed.message)
        except ResourceExhausted as exhausted:
            return LoadFailure(code=exhausted.reason, message=exhausted.message)

    def _failure(self, failed: FetchFailed) -> LoadFailure:
        failure = LoadFailure(code=failed.code, message=str(failed), http_status=failed.http_status)
        if failed.retry_after_s is not None:
            failure.retry_time.FromDatetime(self._clock.now() + timedelta(seconds=failed.retry_after_s))
        return failure


def _not_to_be_shown(url: str) -> LoadFailure:
    host = urlsplit(url).hostname
    return LoadFailure(
        code=NOINDEX,
        message=f"{host} forbids searches to show the picture, by the header X-Robots-Tag. Remove noimageindex, "
        "noindex and none from that header.",
    )


def _is_same(fetched: Fetched, held: PictureInfo) -> bool:
    return bytes.fromhex(fetched.sha256) == held.source_hash

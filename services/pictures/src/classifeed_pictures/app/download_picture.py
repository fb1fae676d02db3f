"""Download a picture, and store it."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.errors import ResourceExhausted
from classifeed_common.fetch import Fetched, FetchFailed, FetchRequest
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_pictures.app.copy_picture import unknown_namespace
from classifeed_pictures.app.decoder import Decoder, size_specs
from classifeed_pictures.app.store_picture import Begin, PictureStorer, Source
from classifeed_pictures.decoding.faults import DecodeFailed
from classifeed_pictures.domain.namespaces import Namespace
from classifeed_pictures.store.namespaces import find_namespace


class PictureDownloader:
    """Downloads, decodes and stores pictures.

    Args:
        database: with the namespaces.
        fetcher: the way to addresses that nobody vouches for.
        decode: decodes what came.
        store: stores it.
        clock: says when hosts may be requested again.
        folder: for files on their way.
    """

    def __init__(
        self,
        database: Database,
        fetcher: Fetcher,
        decode: Decoder,
        store: PictureStorer,
        clock: Clock,
        *,
        folder: Path | None = None,
    ) -> None:
        self._database = database
        self._fetcher = fetcher
        self._decode = decode
        self._store = store
        self._clock = clock
        self._folder = folder

    async def __call__(self, order: DownloadOrder, *, begin: Begin | None = None) -> PictureInfo | LoadFailure:
        """Return the stored picture, or why there is none; the same picture again is the same one.

        Args:
            order: what to download.
            begin: begins the transaction that notes the picture; None: one of the database.

        Raises:
            Unavailable: the object store or the database does not answer; download it again.
        """
        async with self._database.connection() as connection:
            namespace = await find_namespace(connection, order.namespace)
        if namespace is None:
            return unknown_namespace(order.namespace)
        with tempfile.TemporaryDirectory(prefix="picture-", dir=self._folder) as folder:
            path = Path(folder) / "picture"
            try:
                fetched = await self._fetcher.fetch(FetchRequest(order.url), path)
            except FetchFailed as failed:
                return self._failure(failed)
            assert isinstance(fetched, Fetched), "no condition was sent"
            source = Source(order.url_hash, fetched.etag, fetched.last_modified)
            return await self._keep(order, namespace, path, source, begin)

    async def _keep(
        self, order: DownloadOrder, namespace: Namespace, path: Path, source: Source, begin: Begin | None
    ) -> PictureInfo | LoadFailure:
        try:
            decoded = await self._decode.decode(path, size_specs(namespace), namespace.formats)
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

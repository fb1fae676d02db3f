"""A process that resumes after the lease of its job has expired stores no picture that would never be deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import pytest

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DownloadOrder
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.clock import SystemClock
from classifeed_common.db import Tx
from classifeed_common.fetch import Fetched, FetchRequest
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.outbox import Outbox
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_imaging.model import Decoded
from classifeed_jobs import ClaimLost, JobContext, Registry
from classifeed_pictures.app.events.report_load import ReportLoad
from classifeed_pictures.app.files.download_picture import DownloadPicture
from classifeed_pictures.app.files.resize_picture import ResizePicture
from classifeed_pictures.app.files.store_picture import StorePicture
from classifeed_pictures.jobs import download, resize
from classifeed_pictures.jobs.orders import OrderArgs

from ..files.test_copying import OFFERS, WIDER, Maker, Store, stored_pictures
from ..histories import hash_of

Run = Callable[[str, DownloadOrder | CopyOrder], Awaitable[None]]
_DOWNLOAD = DownloadOrder(url="http://shop.example/1.jpg", url_hash=hash_of(1), namespace="offers", attempt=5)


class FileMaker:
    """Makes versions of files, too."""

    async def decode(self, data: bytes | Path, sizes: Any, formats: Any) -> Decoded:
        return await Maker().decode(data if isinstance(data, bytes) else data.read_bytes(), sizes, formats)


class OnePicture:
    """Downloads the same bytes from every URL."""

    async def fetch(self, request: FetchRequest, target: Path) -> Fetched:
        target.write_bytes(b"fetched")
        return Fetched("0" * 64, 7, request.url, "", "", 200, "image/jpeg")


class LostContext:
    """The context of a job that another run has claimed."""

    def guarded_transaction(self) -> AbstractAsyncContextManager[Tx]:
        raise ClaimLost("another run has it")


@pytest.fixture
async def store(migrated_database: MigratedDatabase, s3: EmbeddedS3) -> AsyncIterator[Store]:
    async with stored_pictures(await migrated_database("classifeed_pictures"), s3, OFFERS, WIDER) as store:
        yield store


@pytest.fixture
def run_lost(store: Store, tmp_path: Path) -> Run:
    """Return a function that runs a task with an order, as a run that has lost its claim."""
    registry, reporter = Registry(), ReportLoad(Outbox())
    storer = StorePicture(store.database, store.blobs, SystemClock())
    fetcher = cast(Fetcher, OnePicture())
    downloader = DownloadPicture(store.database, fetcher, FileMaker(), storer, SystemClock(), spool_dir=tmp_path)
    download.register_download(registry, downloader, reporter)
    resize.register_resize(registry, ResizePicture(store.database, store.blobs, FileMaker()), reporter)

    async def run(task: str, order: DownloadOrder | CopyOrder) -> None:
        with pytest.raises(ClaimLost):
            await registry[task].handler(cast(JobContext, LostContext()), OrderArgs.of(order))

    return run


async def stored(store: Store) -> list[tuple[str, int]]:
    async with store.database.connection() as connection:
        cursor = await connection.execute("SELECT namespace, attempt FROM stored_pictures")
        return list(await cursor.fetchall())


async def test_a_download_whose_claim_is_lost_stores_nothing(store: Store, run_lost: Run) -> None:
    await run_lost(download.TASK, _DOWNLOAD)
    assert await stored(store) == []
    assert await store.referred() == {}


async def test_a_copy_whose_claim_is_lost_stores_nothing(store: Store, run_lost: Run) -> None:
    info: PictureInfo = await store.put(1)
    await run_lost(resize.TASK, CopyOrder(url_hash=hash_of(1), source=info, namespace="wider", attempt=2))
    assert await stored(store) == [("offers", 1)]

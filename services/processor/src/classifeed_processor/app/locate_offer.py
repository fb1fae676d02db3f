"""Locate an offer of a task: its places in the file, which is read again, and the batch that contained it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import OfferLocation, OfferPlace
from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_common.spool import run_folder
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.locate import Place, locate_offer
from classifeed_feeds.reading_thread import ReadingThread
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import ByteStream, SourceFile, open_source
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading


class LocateOffer:
    """Locates offers. It reads one file at a time, so that it takes at most one core and one file of disk from loads.

    Args:
        database: database of the tasks and batches.
        blobs: object store of the files.
        spool_dir: folder for temporary files.
    """

    def __init__(self, database: Database, blobs: BlobStore, spool_dir: Path) -> None:
        self._database = database
        self._blobs = blobs
        self._spool_dir = spool_dir
        self._reading = asyncio.Lock()

    async def __call__(self, task: Task, external_id: str, *, timeout_s: float | None) -> OfferLocation:
        """Return the offer's places in the file of the task, its batch in the newest run, and when that run began.

        Calls are queued, and each takes as long as the file's first pass; a cancellation stops it at once. A file that
        could not be loaded yields the places before its fault, and a file that is not a feed yields none.

        Raises:
            FailedPrecondition: the file is gone, or the task has none.
            Unavailable: the object store does not respond.
        """
        if not task.source_sha256:
            raise FailedPrecondition(
                "SOURCE_GONE", f"{task.name} removes a feed and has no file. Name a task that loads one."
            )
        async with self._reading:
            places = await self._read(task, external_id)
        location = OfferLocation(
            places=[
                OfferPlace(ordinal=place.ordinal, line=place.line, column=place.column, excerpt=place.excerpt)
                for place in places
            ]
        )
        key = TaskKey.parse(task.name)
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            checked_at = await reading.first_sent(tx, key, task.run)
            batch = await reading.find_batch(tx, key, task.run, places[0].ordinal) if places else None
        if checked_at is not None:
            location.check_time.FromDatetime(checked_at)
        if batch is not None:
            location.batch_id = batch.batch_id
            location.send_time.FromDatetime(batch.sent_at)
            if batch.replied_at is not None:
                location.answer_time.FromDatetime(batch.replied_at)
        return location

    async def _read(self, task: Task, external_id: str) -> list[Place]:
        with run_folder(self._spool_dir) as folder, ReadingThread() as thread:
            path = folder / "source"
            try:
                await self._blobs.fetch(task.source_sha256, path)
            except (BlobMissing, BlobCorrupt) as error:
                raise FailedPrecondition(
                    "SOURCE_GONE", f"The file of {task.name} is no longer kept, or is damaged. Load the file again."
                ) from error
            stop = threading.Event()
            ended = asyncio.Event()
            loop = asyncio.get_running_loop()
            work = thread.begin(lambda: _find(path, external_id, stop))
            work.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
            try:
                return await asyncio.wrap_future(work)
            finally:
                # Wait until the thread has closed the file, before the folder is removed and the next call begins.
                stop.set()
                await ended.wait()


def _find(path: Path, external_id: str, stop: threading.Event) -> list[Place]:
    try:
        source = open_source(path, DEFAULT_LIMITS)
    except FeedFault:
        return []
    stoppable = _StoppableFile(source.path, source.container, source.member, source.limits, stop)
    return locate_offer(stoppable, path.parent, external_id)


class _StoppedError(Exception):
    """The call was cancelled, so reading stops."""


@dataclass(frozen=True)
class _StoppableFile(SourceFile):
    stop: threading.Event

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        with SourceFile.open(self) as stream:
            yield _StoppableStream(stream, self.stop)


class _StoppableStream:
    def __init__(self, stream: ByteStream, stop: threading.Event) -> None:
        self._stream = stream
        self._stop = stop

    def read(self, size: int, /) -> bytes:
        if self._stop.is_set():
            raise _StoppedError
        return self._stream.read(size)

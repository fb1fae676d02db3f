"""Send one run of a task: fetch the file, check it to its end, and send its offers in batches, without TaskEnd."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from opentelemetry.context import get_current

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_IN_PROGRESS
from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobStore
from classifeed_common.kafka import Message, message_of
from classifeed_common.spool import run_folder
from classifeed_common.telemetry.tracing import is_sampled, unrecorded
from classifeed_feeds.batches import FinalizedBatch, RunAddress, RunDigest
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.reading_thread import ReadingThread
from classifeed_feeds.scanning.scan import FeedScan, require_mode
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import open_source
from classifeed_jobs import JobContext, JobStore, Progress
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.note_progress import FurthestBatch
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.domain.statistics import add_stage
from classifeed_processor.domain.tasks import TaskKey, TaskState
from classifeed_processor.metrics import READ_BYTES
from classifeed_processor.store import results, tasks

_CHUNK_BATCHES: Final = 8
_POLL_S: Final = 1.0


class Sender(Protocol):
    """Sends messages to a topic; KafkaProducer implements it."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Send messages in the order given; return after all are acknowledged."""


class RunOvertaken(Exception):
    """The task has a newer run or has ended: stop sending."""


class RunStalled(Exception):
    """The window is full and no reply has come for a while: release the slot, and request a check."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """Dependencies of a run.

    Attributes:
        blobs: object store of the files.
        sender: sender of the batches.
        jobs: job store of the tasks' jobs.
        signals: notifier of stored replies.
        topic: topic of requests to the service offers.
        spool_dir: folder for temporary files of runs; each run removes its own.
        windows: limits of batches that wait for replies.
        stall_s: seconds that a run keeps its slot while its window is full and no reply comes.
    """

    blobs: BlobStore
    sender: Sender
    jobs: JobStore
    signals: TaskSignals
    topic: str
    spool_dir: Path
    windows: SellerWindows
    stall_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Sent:
    """Batches of a run that were sent before it stalled.

    Attributes:
        last_batch_id: number of the last batch that was sent; 0: none.
        unanswered: numbers of the batches to send again.
    """

    last_batch_id: int
    unanswered: Set[int]


@dataclass(frozen=True, slots=True)
class _Sending:
    batch_count: int
    digest: bytes
    stages: dict[str, float]


async def send_run(ctx: JobContext, parts: RunParts, key: TaskKey, run: int, state: TaskState, before: Sent) -> None:
    """Send all batches of a run, and store that they were sent once all are acknowledged.

    Of the batches sent `before`, only unanswered ones are sent again. The service offers repeats its replies, so the
    statistics of the run stay correct. Every effect is guarded by the job's claim. A restart sends the file as a higher
    run. Nothing is sent before the first pass is complete. A cancellation may leave a part of the run, which the next
    run replaces at the service offers.

    Raises:
        FeedFault: the file cannot be loaded. Nothing was sent, except in the case that `read_batches` describes.
        RunOvertaken: the task has a newer run or has ended.
        RunStalled: no reply comes; nothing is sent until a check was requested.
        Unavailable: a dependency does not respond; try again.
    """
    with run_folder(parts.spool_dir) as folder, ReadingThread() as reading:
        started = time.monotonic()
        path = await _fetch(parts.blobs, state.source_sha256, folder)
        fetched = time.monotonic()
        scan = await reading.call(lambda: _scan(path))
        stages = {"download": fetched - started, "check": time.monotonic() - fetched}
        async with ctx.guarded_transaction() as tx:
            await tasks.note_scan(
                tx, key, run, format_name=scan.format, expected_total=scan.offer_count, warnings=scan.warnings
            )
        _require_format(scan, state.format_wanted)
        require_mode(scan, state.mode)
        with parts.windows.open(key.seller_id) as window:
            sent = await _send_batches(ctx, parts, key, run, state, scan, reading, before, window)
    async with ctx.guarded_transaction() as tx:
        await FurthestBatch(ctx).note_end(tx)
        await tasks.note_sent(tx, key, run, batch_count=sent.batch_count, digest=sent.digest)
        statistics = await results.lock_statistics(tx, key, run)
        for stage, seconds in (stages | sent.stages).items():
            add_stage(statistics, stage, seconds)
        await results.save_statistics(tx, key, statistics, replied=False)
    READ_BYTES.inc(state.source_bytes)


async def send_nothing(ctx: JobContext, key: TaskKey, run: int) -> None:
    """Store that a run without batches was sent; its TaskEnd then says that the feed has no offers.

    The write is guarded by the job's claim.
    """
    async with ctx.guarded_transaction() as tx:
        await tasks.note_sent(tx, key, run, batch_count=0, digest=RunDigest().value())


async def _fetch(blobs: BlobStore, sha256: str, folder: Path) -> Path:
    path = folder / "source"
    try:
        await blobs.fetch(sha256, path)
    except BlobMissing as error:
        raise FeedFault("SOURCE_MISSING", "The object store no longer has the file") from error
    except BlobCorrupt as error:
        raise FeedFault("SOURCE_MISSING", "The stored file is damaged") from error
    return path


def _scan(path: Path) -> FeedScan:
    return scan_feed(open_source(path, DEFAULT_LIMITS), path.parent)


def _require_format(scan: FeedScan, wanted: str) -> None:
    if wanted and scan.format != wanted:
        raise FeedFault(
            "FORMAT_DIFFERS", f"The file is of the format {scan.format}, and this feed accepts only {wanted}"
        )


async def _send_batches(
    ctx: JobContext,
    parts: RunParts,
    key: TaskKey,
    run: int,
    state: TaskState,
    scan: FeedScan,
    reading: ReadingThread,
    before: Sent,
    window: Callable[[], int],
) -> _Sending:
    address = RunAddress(key.seller_id, key.namespace, key.task_id, run, state.mode)
    batches = read_batches(scan, address, default_currency=state.default_currency)
    reading.closing(batches.close)
    envelopes = _Envelopes.make(parts.topic, key.seller_id.encode())
    size = min(_CHUNK_BATCHES, parts.windows.largest)
    digest, furthest = RunDigest(), FurthestBatch(ctx)
    batch_count = records = 0
    stages = {"parse": 0.0, "send": 0.0}
    ahead = reading.begin(lambda: _take_chunk(batches, envelopes, size))
    while True:
        chunk = await asyncio.wrap_future(ahead)
        stages["parse"] += chunk.seconds
        if not chunk.batches:
            return _Sending(batch_count, digest.value(), stages)
        # The next chunk is parsed while this one is sent.
        ahead = reading.begin(lambda: _take_chunk(batches, envelopes, size))
        started = time.monotonic()
        if again := [m for b, m in zip(chunk.batches, chunk.messages, strict=True) if b.batch_id in before.unanswered]:
            await parts.sender.send(again)  # the window counts them already
        if fresh := [b for b in chunk.batches if b.batch_id > before.last_batch_id]:
            await _await_room(ctx, parts, key, run, len(fresh), window)
            async with ctx.guarded_transaction() as tx:
                # Inserted before they are sent, so that a reply always finds its batch.
                await tasks.insert_batches(tx, key, run, [(b.batch_id, b.records) for b in fresh])
                await furthest.note_sending(tx, fresh[0].batch_id)
            await parts.sender.send(chunk.messages[-len(fresh) :])
        stages["send"] += time.monotonic() - started
        for batch in chunk.batches:
            digest.add(batch.digest)
            records += batch.records
        batch_count += len(chunk.batches)
        ctx.report(Progress(processed=records, total=scan.offer_count))


@dataclass(frozen=True, slots=True)
class _Chunk:
    batches: list[FinalizedBatch]
    messages: list[Message]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Envelopes:
    """Messages of a run without their batches: one with a recorded trace, and one with an unrecorded trace."""

    recorded: Message
    unrecorded: Message

    @classmethod
    def make(cls, topic: str, key: bytes) -> _Envelopes:
        return cls(
            message_of(topic, key, OfferBatch()),
            message_of(topic, key, OfferBatch(), trace=unrecorded(get_current())),
        )

    def around(self, batch: FinalizedBatch) -> Message:
        return replace(self.recorded if is_sampled(batch.batch_id) else self.unrecorded, value=batch.value)


def _take_chunk(batches: Iterator[FinalizedBatch], envelopes: _Envelopes, size: int) -> _Chunk:
    started = time.monotonic()
    taken = list(islice(batches, size))
    messages = [envelopes.around(batch) for batch in taken]
    return _Chunk(taken, messages, time.monotonic() - started)


async def _await_room(
    ctx: JobContext, parts: RunParts, key: TaskKey, run: int, batches: int, window: Callable[[], int]
) -> None:
    """Wait until the window has room for some batches, counted in the database: any process may store replies."""
    least = -1
    stalled_at = 0.0
    while True:
        async with ctx.db.transaction() as tx:
            status, _, current = await tasks.get_state(tx, key)
            waiting = await tasks.count_unanswered(tx, key, run)
        if current != run or status != TASK_STATUS_IN_PROGRESS:
            raise RunOvertaken(f"{key.name} run {run}")
        if waiting == 0 or waiting + batches <= window():
            return
        now = time.monotonic()
        if waiting != least:
            least, stalled_at = waiting, now + parts.stall_s
        if now >= stalled_at:
            raise RunStalled(f"{key.name} run {run}")
        await parts.signals.wait(key, min(_POLL_S, stalled_at - now))

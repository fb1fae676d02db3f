"""Sending one run of a task: the file fetched, checked to its end, and its offers in batches; the end comes later."""

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
from classifeed_jobs import JobContext, JobStore, Progress
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.note_progress import FurthestBatch
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.domain.statistics import add_stage
from classifeed_processor.domain.tasks import TaskKey, TaskState
from classifeed_processor.feed.batches import FinalizedBatch, RunAddress, RunDigest
from classifeed_processor.feed.first_pass import scan_feed
from classifeed_processor.feed.reading_thread import ReadingThread
from classifeed_processor.feed.scanning.scan import FeedScan, require_mode
from classifeed_processor.feed.second_pass import read_batches
from classifeed_processor.feed.source.limits import DEFAULT_LIMITS
from classifeed_processor.feed.source.source import open_source
from classifeed_processor.metrics import READ_BYTES
from classifeed_processor.store import results, tasks

_CHUNK_BATCHES: Final = 8
_POLL_S: Final = 1.0


class Sender(Protocol):
    """What puts messages on a topic, as this use case needs it."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Return when every message is acknowledged, in the order given."""


class RunOvertaken(Exception):
    """The run is not the task's any more, or the task has ended: stop sending."""


class RunStalled(Exception):
    """The window is full and no reply has come for a while: leave the slot to others, and ask the owner."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """What a run works with.

    Attributes:
        blobs: where the files are.
        sender: where the batches go.
        jobs: where the jobs of the tasks are.
        signals: notifies when replies have come.
        topic: topic of requests.
        spool_dir: folder for files of runs; each run removes its own.
        windows: how many batches may wait for their replies.
        stall_s: how long a run keeps its slot while its window is full and no reply comes, in seconds.
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
    """What of a run went out before it stalled.

    Attributes:
        last_batch_id: the number of the last batch that was sent; 0: none.
        unanswered: the numbers of those that are to be sent again.
    """

    last_batch_id: int
    unanswered: Set[int]


@dataclass(frozen=True, slots=True)
class _Sending:
    batch_count: int
    digest: bytes
    stages: dict[str, float]


async def send_run(ctx: JobContext, parts: RunParts, key: TaskKey, run: int, state: TaskState, before: Sent) -> None:
    """Send all batches of a run and notes, once all are acknowledged, that they were sent. Of what was sent `before`,
    only what has no reply is sent again: as the owner replies alike, the figures of the run stay right.

    Every effect is guarded by the job's claim. It may run again, as a higher run. Nothing is sent before the first pass
    is through. Cancellation leaves a part of the run behind, which the next run replaces at the owner.

    Raises:
        FeedFault: the file cannot be loaded; nothing was sent, save in the case that `read_batches` names.
        RunOvertaken: the task went on without this run.
        RunStalled: no reply comes; nothing more is sent until the owner has got a request.
        Unavailable: a part that is needed does not respond; try again.
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
    """Note a run without batches as sent; what its end then say is that nothing of the feed is left.

    Guarded by the job's claim.
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
        # The next piece is parsed while this one travels.
        ahead = reading.begin(lambda: _take_chunk(batches, envelopes, size))
        started = time.monotonic()
        if again := [m for b, m in zip(chunk.batches, chunk.messages, strict=True) if b.batch_id in before.unanswered]:
            await parts.sender.send(again)  # they have their place in the window
        if fresh := [b for b in chunk.batches if b.batch_id > before.last_batch_id]:
            await _await_room(ctx, parts, key, run, len(fresh), window)
            async with ctx.guarded_transaction() as tx:
                # Before they leave, so that no reply finds its batch unknown.
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
    """Messages of a run without their batches: what is done with a batch is recorded in its trace, or is not."""

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
    """Return when the window has room for so many batches. The database counts, whoever took the replies in."""
    least = -1
    stalled_at = 0.0
    while True:
        async with ctx.db.transaction() as tx:
            status, _, current = await tasks.read_state(tx, key)
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

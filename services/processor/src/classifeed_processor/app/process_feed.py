"""Running a task to its end: runs of the file, the terminal message, and the wait for the owner's last word."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed_common.db import Tx
from classifeed_common.kafka import message_of
from classifeed_jobs import Fail, JobContext, Snooze
from classifeed_processor.app.send_run import RunOvertaken, RunParts, send_nothing, send_run
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.domain.feed_order import FINISHED, FetchOrder
from classifeed_processor.domain.statistics import add_stage
from classifeed_processor.domain.tasks import TaskKey, TaskState
from classifeed_processor.store import results, tasks

_log = structlog.get_logger(__name__)
_POLL_S: Final = 1.0
# An earlier task of the namespace is between two tries; its turn comes first.
_EARLIER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Step:
    """What is to be done next: send a run, or end one that was sent and wait."""

    run: int
    state: TaskState
    is_sent: bool


async def process_feed(ctx: JobContext, parts: RunParts, key: TaskKey) -> None:
    """Returns when the task has ended or is held.

    A fetched file that comes after a newer one of its feed, or after the feed's removal, ends SUPERSEDED and nothing of
    it is sent. A DELETE is a run without batches: its end alone has the owner deal with all that the feed has.

    May be killed and started again at any point: the task's phase says where to go on. In PARSING the file is sent
    again as a new run, which replaces the unfinished one at the owner; in SENT only the end is said again and awaited.

    Raises:
        Snooze: an earlier task of the namespace has not ended.
        Fail: there is no such task.
        ClaimLost: another run of the job has begun.
    """
    try:
        while (step := await _next_step(ctx, key)) is not None:
            if step.is_sent:
                await _end_run(ctx, parts, key, step)
                continue
            try:
                if step.state.kind == task_pb2.TASK_KIND_DELETE:
                    await send_nothing(ctx, key, step.run)
                else:
                    await send_run(ctx, parts, key, step.run, step.state)
            except FeedFault as fault:
                _log.info("feed.failed", task=key.name, run=step.run, code=fault.code, line=fault.line)
                async with ctx.guarded_transaction() as tx:
                    is_fetched = step.state.feed_loader_result_id is not None
                    await tasks.end_task(tx, key, task_pb2.TASK_STATUS_FAILED, fault, is_fetched=is_fetched)
            except RunOvertaken:
                _log.info("feed.run.overtaken", task=key.name, run=step.run)
    finally:
        parts.signals.forget(key)


async def _next_step(ctx: JobContext, key: TaskKey) -> _Step | None:
    async with ctx.guarded_transaction() as tx:
        state = await tasks.lock_task(tx, key)
        if state is None:
            raise Fail(f"there is no {key.name}")
        if not state.is_open:
            return None
        if state.phase == task_pb2.TASK_PHASE_SENT:
            return _Step(state.run, state, is_sent=True)
        if await tasks.has_earlier(tx, key):
            raise Snooze(_EARLIER_S)
        if await _is_outdated(tx, key, state):
            _log.info("feed.outdated", task=key.name, feed_version=state.feed_version)
            await tasks.end_task(tx, key, task_pb2.TASK_STATUS_SUPERSEDED)
            return None
        await tasks.supersede_held(tx, key)
        statistics = FeedStatistics(bytes=state.source_bytes)
        run = await tasks.begin_run(tx, key, statistics.SerializeToString())
        return _Step(run, state, is_sent=False)


async def _is_outdated(tx: Tx, key: TaskKey, state: TaskState) -> bool:
    if state.feed_loader_result_id is None:
        return False
    marks = await tasks.read_marks(tx, key.seller_id, key.namespace, FINISHED)
    return marks.outdate(FetchOrder(state.feed_version, state.feed_loader_result_id))


async def _end_run(ctx: JobContext, parts: RunParts, key: TaskKey, step: _Step) -> None:
    """Says the end of the run and waits until the owner's answer has moved the task.

    Reached only after every batch of the run was acknowledged. After a crash the end may be said twice; the owner takes
    the second one for the same.
    """
    state = step.state
    end = TaskEnd(
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        run=step.run,
        batch_count=state.batch_count or 0,
        digest=state.digest or b"",
        mode=state.mode,
        disposition=state.disposition,
    )
    started = time.monotonic()
    await parts.sender.send([message_of(parts.topic, key.seller_id.encode(), end)])
    while True:
        async with ctx.db.transaction() as tx:
            status, phase, run = await tasks.read_state(tx, key)
        if (status, phase, run) != (task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_PHASE_SENT, step.run):
            break
        await parts.signals.wait(key, _POLL_S)
    async with ctx.guarded_transaction() as tx:
        statistics = await results.lock_statistics(tx, key, step.run)
        add_stage(statistics, "answer", time.monotonic() - started)
        await results.save_statistics(tx, key, statistics, answered=False)

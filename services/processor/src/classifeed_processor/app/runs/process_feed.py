"""Run a task to its end: send runs of the file and TaskEnd, and wait for the final reply of the service offers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM, RunCheck, TaskEnd
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed_common.db import Tx
from classifeed_common.kafka import message_of
from classifeed_common.telemetry.tracing import describe_span
from classifeed_feeds.faults import FeedFault
from classifeed_jobs import Fail, JobContext, Snooze
from classifeed_processor.app.issues.schedule_packing import schedule_packing
from classifeed_processor.app.runs.note_progress import FurthestBatch
from classifeed_processor.app.runs.send_run import RunOvertaken, RunParts, RunStalled, Sent, send_nothing, send_run
from classifeed_processor.app.tasks.finish_task import finish_task
from classifeed_processor.app.tasks.report_load import report_begin, report_end, report_resumption
from classifeed_processor.domain.feed_order import FINISHED, FetchOrder
from classifeed_processor.domain.tasks import TaskKey, TaskState, Window
from classifeed_processor.store import tasks

_log = structlog.get_logger(__name__)
_POLL_S: Final = 1.0
# Most replies come sooner; for later ones the job releases its slot.
_LONGEST_WAIT_S: Final = 2.0
# The end of an earlier task makes this job due; the wait covers an end that was not noticed.
_EARLIER_S: Final = 60.0

_Step: TypeAlias = Callable[[], Awaitable[None]]


async def process_feed(ctx: JobContext, parts: RunParts, key: TaskKey) -> None:
    """Run a task until it has ended or is held.

    A fetched file that comes after a newer one of its feed, or after the feed's removal, ends SUPERSEDED and none of it
    is sent. A DELETE is a run without batches: its TaskEnd makes the service offers process all offers of the feed.

    It may be killed and restarted at any point, and continues from the task's phase. In PARSING it sends the file again
    as a new run, which replaces the unfinished one at the service offers. In SENT it only sends TaskEnd again. It
    releases its slot while it waits for replies. A reply makes the job due, and a missing one is requested again.

    Raises:
        Snooze: an earlier task of the namespace has not ended, or replies are awaited.
        Fail: there is no such task.
        ClaimLost: another run of the job has begun.
    """
    describe_span(seller=key.seller_id, namespace=key.namespace, task=key.task_id)
    try:
        while (step := await _next_step(ctx, parts, key)) is not None:
            await step()
    finally:
        parts.signals.forget(key)


async def _next_step(ctx: JobContext, parts: RunParts, key: TaskKey) -> _Step | None:
    async with ctx.guarded_transaction() as tx:
        state = await tasks.lock_task(tx, key)
        if state is None:
            raise Fail(f"there is no {key.name}")
        if not state.is_open:
            return None
        if state.phase == task_pb2.TASK_PHASE_SENT:
            await _await_next_request(tx, key, state)
            return lambda: _end_run(ctx, parts, key, state)
        if state.window != Window.OPEN:
            unanswered = await tasks.list_unanswered(tx, key, state.run)
            last = await tasks.find_last_batch(tx, key, state.run)
            if unanswered and state.window == Window.STALLED:
                await _await_next_request(tx, key, state)
                return lambda: _check_run(parts, key, state.run, last)
            await tasks.resume(tx, key)
            report_resumption(tx, key, state.run)
            return lambda: _send(ctx, parts, key, state, state.run, Sent(last, unanswered))
        if await tasks.has_earlier(tx, key):
            raise Snooze(_EARLIER_S)
        if await _is_outdated(tx, key, state):
            _log.info("feed.outdated", task=key.name, feed_version=state.feed_version)
            await finish_task(tx, parts.jobs, key, task_pb2.TASK_STATUS_SUPERSEDED)
            return None
        for held in await tasks.supersede_held(tx, key):
            await report_end(tx, held)
            await schedule_packing(tx, parts.jobs, held)
        if await tasks.has_earlier(tx, key):
            raise Snooze(_EARLIER_S)  # a held task was decided meanwhile, and runs first
        if ctx.claim_no > 1:
            await FurthestBatch(ctx).note_earlier_run(tx, await tasks.find_last_batch(tx, key, state.run))
        statistics = FeedStatistics(bytes=state.source_bytes)
        run = await tasks.begin_run(tx, key, statistics.SerializeToString())
        await report_begin(tx, key, run, is_first=state.run == 0)
        return lambda: _send(ctx, parts, key, state, run, Sent(0, set()))


async def _is_outdated(tx: Tx, key: TaskKey, state: TaskState) -> bool:
    if state.feed_loader_result_id is None:
        return False
    marks = await tasks.get_marks(tx, key.seller_id, key.namespace, FINISHED)
    return marks.outdate(FetchOrder(state.feed_version, state.feed_loader_result_id))


async def _send(ctx: JobContext, parts: RunParts, key: TaskKey, state: TaskState, run: int, sent: Sent) -> None:
    """Send a run, or the unanswered batches of a stalled run; end the task if its file cannot be loaded."""
    try:
        if state.kind == task_pb2.TASK_KIND_DELETE:
            await send_nothing(ctx, key, run)
        else:
            await send_run(ctx, parts, key, run, state, sent)
    except FeedFault as fault:
        _log.info("feed.failed", task=key.name, run=run, code=fault.code, line=fault.line)
        async with ctx.guarded_transaction() as tx:
            is_fetched = state.feed_loader_result_id is not None
            await finish_task(tx, parts.jobs, key, task_pb2.TASK_STATUS_FAILED, fault, is_fetched=is_fetched)
    except RunOvertaken:
        _log.info("feed.run.overtaken", task=key.name, run=run)
    except RunStalled:
        _log.info("feed.run.stalled", task=key.name, run=run)
        async with ctx.guarded_transaction() as tx:
            await tasks.stall(tx, key, run)


async def _await_next_request(tx: Tx, key: TaskKey, state: TaskState) -> None:
    """Record that a reply is requested from the service offers now.

    Raises:
        Snooze: a request was sent lately; its reply makes the job due.
    """
    if state.next_request_s > 0:
        raise Snooze(state.next_request_s)
    await tasks.note_request(tx, key)


async def _check_run(parts: RunParts, key: TaskKey, run: int, last_batch_id: int) -> None:
    """Request a check. Its reply comes after the replies to all earlier batches, so any missing reply is lost then."""
    check = RunCheck(
        seller_id=key.seller_id, namespace=key.namespace, task_id=key.task_id, run=run, last_batch_id=last_batch_id
    )
    await parts.sender.send([message_of(parts.topic, key.seller_id.encode(), check)])


async def _end_run(ctx: JobContext, parts: RunParts, key: TaskKey, state: TaskState) -> None:
    """Send TaskEnd and wait a moment for the reply that moves the task.

    It is called only after every batch of the run was acknowledged. TaskEnd is idempotent: the service offers replies
    to a second one as to the first, unless the load is held and the second one has a decision.
    """
    end = TaskEnd(
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        run=state.run,
        batch_count=state.batch_count or 0,
        digest=state.digest or b"",
        mode=state.mode,
        disposition=state.disposition,
        # The removal of a feed, and a load that was allowed in advance, is not held.
        decision=HOLD_DECISION_CONFIRM if state.kind == task_pb2.TASK_KIND_DELETE else state.decision,
    )
    await parts.sender.send([message_of(parts.topic, key.seller_id.encode(), end)])
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while (left_s := deadline - time.monotonic()) > 0:
        async with ctx.db.transaction() as tx:
            status, phase, run = await tasks.get_state(tx, key)
        if (status, phase, run) != (task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_PHASE_SENT, state.run):
            return
        await parts.signals.wait(key, min(_POLL_S, left_s))

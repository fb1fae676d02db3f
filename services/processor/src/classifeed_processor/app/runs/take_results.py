"""Apply replies of the service offers: store counts and issues, and end tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Final, TypeAlias

import structlog
from opentelemetry.context import Context

from classifeed.feeds.v1 import offer_results_pb2, task_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT
from classifeed.feeds.v1.offer_results_pb2 import (
    LateResult,
    OfferBatchResult,
    RunCheckResult,
    TaskEndOutcome,
    TaskEndResult,
)
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed.offers.v1.offer_pb2 import OFFER_CHANGE_ADDED, OFFER_CHANGE_UPDATED
from classifeed_common.db import Tx
from classifeed_common.enum_names import name_of
from classifeed_common.telemetry.tracing import entered
from classifeed_feeds.faults import FeedFault
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.schedule_packing import schedule_packing
from classifeed_processor.app.tasks.finish_task import begin_next, finish_task
from classifeed_processor.app.tasks.report_load import report_held, report_offers
from classifeed_processor.domain.issue_blocks import pack_chunks
from classifeed_processor.domain.statistics import (
    NOTED_A_TASK,
    add_changed,
    add_counts,
    add_issues,
    add_stage,
    move_late,
)
from classifeed_processor.domain.tasks import MAX_LOSSES, TaskKey, Window, has_ended
from classifeed_processor.metrics import LATE_DROPPED
from classifeed_processor.store import issues, results, tasks
from classifeed_processor.store.results import LockedTask

_log = structlog.get_logger(__name__)
_IN_PROGRESS: Final = task_pb2.TASK_STATUS_IN_PROGRESS
_HELD: Final = task_pb2.TASK_STATUS_HELD
# The service offers applies batches that a canceled load has sent, so they are counted.
_COUNTED: Final = frozenset({_IN_PROGRESS, task_pb2.TASK_STATUS_CANCELED})
_DECIDED: Final = frozenset({HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT})
_LOST_REPLIES: Final = (
    "The load is complete. The outcome of the offers in {} of its batches was lost, "
    "so the counts and issues are too low."
)
# Each message begins with a code, for programs.
_REMOVALS_REJECTED: Final = (
    "REMOVALS_REJECTED: {:,} offers that the file lacks stay in the search, as their removal was rejected. The next "
    "load of a file without them is held again."
)
_CHANGES_REJECTED: Final = (
    "CHANGES_REJECTED: {:,} offers stay as they were, as their changes were rejected. The next load with the same "
    "changes is held again."
)

_NO_TRACES: Final[Mapping[TaskKey, Context]] = {}

_MOVED: Final = {OFFER_CHANGE_ADDED: "added", OFFER_CHANGE_UPDATED: "updated"}

RunReply: TypeAlias = OfferBatchResult | TaskEndResult | RunCheckResult
Reply: TypeAlias = RunReply | LateResult


async def take_results(
    tx: Tx, jobs: JobStore, replies: Sequence[Reply], *, traces: Mapping[TaskKey, Context] = _NO_TRACES
) -> set[TaskKey]:
    """Apply replies, make the jobs due that waited for them, and return the tasks that they moved.

    It uses the caller's transaction. Each batch counts once, even if its reply is repeated. Replies about older runs
    and ended tasks change nothing.

    Args:
        tx: open transaction.
        jobs: job store of the tasks' jobs.
        replies: replies of one poll.
        traces: trace contexts by task.
    """
    taking = _Taking(tx, jobs, await results.lock_tasks(tx, {key_of(reply) for reply in replies}))
    await taking.take_batches([reply for reply in replies if isinstance(reply, OfferBatchResult)])
    for reply in replies:
        with entered(traces.get(key_of(reply))):
            if isinstance(reply, TaskEndResult):
                await taking.take_end(reply)
            elif isinstance(reply, RunCheckResult):
                await taking.take_check(reply)
            elif isinstance(reply, LateResult):
                await taking.take_late(reply)
    return taking.moved


def key_of(reply: Reply) -> TaskKey:
    """Return the task that a reply is about."""
    return TaskKey(reply.seller_id, reply.namespace, reply.task_id)


class _Taking:
    """Applies the results of one poll to their locked tasks.

    Args:
        found: state of the tasks; it is kept up to date.
    """

    def __init__(self, tx: Tx, jobs: JobStore, found: dict[TaskKey, LockedTask]) -> None:
        self._tx = tx
        self._jobs = jobs
        self._found = found
        self.moved: set[TaskKey] = set()

    async def take_batches(self, replies: Sequence[OfferBatchResult]) -> None:
        current = [reply for reply in replies if self._of_run(reply, _COUNTED) is not None]
        first = await results.note_replies(
            self._tx, [(key_of(reply), reply.run, reply.batch_id) for reply in current if not _is_refused(reply)]
        )
        by_task: defaultdict[TaskKey, list[OfferBatchResult]] = defaultdict(list)
        for reply in current:
            key = key_of(reply)
            if (key, reply.batch_id) in first:
                first.discard((key, reply.batch_id))
                by_task[key].append(reply)
        for key, batch_results in by_task.items():
            await self._add_up(key, batch_results)
            is_stale = any(result.outcome == offer_results_pb2.BATCH_OUTCOME_STALE for result in batch_results)
            if is_stale and self._found[key].status == _IN_PROGRESS:
                # A batch of the current run is stale only if the service offers has begun a newer task.
                await self._finish(key, task_pb2.TASK_STATUS_SUPERSEDED)
        self.moved |= by_task.keys()
        for reply in filter(_is_refused, current):
            # Checked for each reply, because the first refusal ends the run.
            if (task := self._of_run(reply, {_IN_PROGRESS})) is not None:
                await self._run_again(key_of(reply), task, f"batch {reply.batch_id} was refused: {reply.reason}")

    async def take_end(self, reply: TaskEndResult) -> None:
        task = self._of_run(reply, {_IN_PROGRESS, _HELD})
        # Skips the second reply to a repeated TaskEnd: the first one has moved the phase.
        if task is None or task.phase != task_pb2.TASK_PHASE_SENT:
            return
        key = key_of(reply)
        outcome = name_of(TaskEndOutcome, reply.outcome)
        _log.info("feeds.load.answered", task=key.name, run=reply.run, outcome=outcome)
        match reply.outcome:
            case offer_results_pb2.TASK_END_OUTCOME_COMPLETED:
                await self._complete(key, task, reply)
            case offer_results_pb2.TASK_END_OUTCOME_INCOMPLETE:
                if task.status == _HELD:
                    return  # a held task has no job to run it again; the decision sends TaskEnd again
                missing = ", ".join(map(str, reply.missing_batches[:5])) or "none that is known"
                await self._run_again(key, task, f"it missed batches; last: {missing}")
            case offer_results_pb2.TASK_END_OUTCOME_STALE:
                await self._finish(key, task_pb2.TASK_STATUS_SUPERSEDED)
            case offer_results_pb2.TASK_END_OUTCOME_HELD:
                if task.status == _HELD or task.decision in _DECIDED:
                    return  # the reply to a TaskEnd that was sent before the decision
                report_held(self._tx, key, reply.hold)
                await self._add_reply_time(key, task, reply.run)
                await tasks.hold_task(self._tx, key, reply.hold)
                await begin_next(self._tx, self._jobs, key)
                await self._wake(key, replace(task, status=_HELD))
            case unknown:
                # The consumer rejects unknown outcomes. An error blocks the partition, so that it is reported.
                raise ValueError(f"the end of {key.name} has outcome {unknown}, which is not known")

    async def take_check(self, reply: RunCheckResult) -> None:
        """Apply the reply to a check: it comes after the replies to all earlier batches, so missing ones are lost."""
        task = self._of_run(reply, {_IN_PROGRESS})
        if task is None or task.phase != task_pb2.TASK_PHASE_PARSING or task.window != Window.STALLED:
            return
        key = key_of(reply)
        lost = await tasks.count_unanswered(self._tx, key, task.run)
        if lost and task.incomplete_runs + 1 >= MAX_LOSSES:
            await self._give_up(key, f"the replies to {lost} batches were lost")
        else:
            await self._go_on(key, task, lost)

    async def take_late(self, reply: LateResult) -> None:
        """Apply late errors of a task's offers, in every state of the task.

        Each error counts once. Past NOTED_A_TASK, errors that move no count are counted each time they are sent: a row
        for each of millions of pictures at an unavailable host would be more than the load itself.
        """
        key = key_of(reply)
        task = self._found.get(key)
        if task is None:
            LATE_DROPPED.inc(len(reply.errors))
            return
        new = await results.note_late_errors(self._tx, key, reply.errors, limit=NOTED_A_TASK)
        statistics = await results.lock_statistics(self._tx, key, task.run)
        errors: list[OfferError] = []
        for late in reply.errors:
            if (late.error.external_id, late.error.error_id) in new:
                new.discard((late.error.external_id, late.error.error_id))
                errors.append(late.error)
                if late.counted in _MOVED:
                    move_late(statistics, _MOVED[late.counted])
        if errors:
            await self._keep(key, task, statistics, errors)
            await results.save_statistics(self._tx, key, statistics, replied=False)
            await results.touch_task(self._tx, key)
            self.moved.add(key)

    async def _complete(self, key: TaskKey, task: LockedTask, reply: TaskEndResult) -> None:
        lost = await tasks.count_unanswered(self._tx, key, task.run)
        if lost and task.status == _IN_PROGRESS and task.incomplete_runs + 1 < MAX_LOSSES:
            await self._go_on(key, task, lost)
            return
        if lost:
            await tasks.warn(self._tx, key, _LOST_REPLIES.format(lost))
        statistics = await results.lock_statistics(self._tx, key, task.run)
        statistics.removed = reply.removed
        statistics.made_manual = reply.made_manual
        add_changed(statistics, reply.changed)
        if reply.kept:
            await tasks.warn(self._tx, key, _REMOVALS_REJECTED.format(reply.kept))
        if reply.dropped and (task.decision == HOLD_DECISION_REJECT or task.status == _HELD):
            await tasks.warn(self._tx, key, _CHANGES_REJECTED.format(reply.dropped))
        await results.save_statistics(self._tx, key, statistics, replied=True)
        await self._add_reply_time(key, task, task.run)
        await self._finish(key, task_pb2.TASK_STATUS_SUCCEEDED)

    async def _add_reply_time(self, key: TaskKey, task: LockedTask, run: int) -> None:
        statistics = await results.lock_statistics(self._tx, key, run)
        add_stage(statistics, "answer", task.sent_s or 0.0)
        await results.save_statistics(self._tx, key, statistics, replied=False)

    async def _go_on(self, key: TaskKey, task: LockedTask, lost: int) -> None:
        """Make the job send unanswered batches again; the service offers repeats its replies."""
        _log.info("task.replies.lost", task=key.name, run=task.run, batches=lost)
        await tasks.note_reported(self._tx, key, is_lost=lost > 0)
        await self._wake(key, replace(task, phase=task_pb2.TASK_PHASE_PARSING, window=Window.REPORTED))

    async def _run_again(self, key: TaskKey, task: LockedTask, reason: str) -> None:
        _log.warning("task.run.incomplete", task=key.name, run=task.run, reason=reason)
        if task.incomplete_runs + 1 >= MAX_LOSSES:
            await self._give_up(key, reason)
            return
        await tasks.await_rerun(self._tx, key)
        await self._wake(key, replace(task, run=task.run + 1, phase=task_pb2.TASK_PHASE_PARSING))

    async def _give_up(self, key: TaskKey, reason: str) -> None:
        fault = FeedFault("RUNS_EXHAUSTED", f"The list of offers could not apply the load in three runs ({reason})")
        await self._finish(key, task_pb2.TASK_STATUS_FAILED, fault)

    async def _finish(self, key: TaskKey, status: task_pb2.TaskStatus, fault: FeedFault | None = None) -> None:
        await finish_task(self._tx, self._jobs, key, status, fault)
        await self._wake(key, replace(self._found[key], status=status, phase=task_pb2.TASK_PHASE_DONE))

    async def _wake(self, key: TaskKey, task: LockedTask) -> None:
        self._found[key] = task
        self.moved.add(key)
        if task.job_id is not None:
            await self._jobs.make_due(self._tx, [task.job_id])

    async def _add_up(self, key: TaskKey, batch_results: Sequence[OfferBatchResult]) -> None:
        run = self._found[key].run
        statistics = await results.lock_statistics(self._tx, key, run)
        errors: list[OfferError] = []
        for result in batch_results:
            add_counts(statistics, result.counts)
            report_offers(self._tx, result.counts)
            errors.extend(result.errors)
        await self._keep(key, self._found[key], statistics, errors)
        await results.save_statistics(self._tx, key, statistics, replied=True)
        await results.touch_task(self._tx, key)

    async def _keep(
        self, key: TaskKey, task: LockedTask, statistics: FeedStatistics, errors: Sequence[OfferError]
    ) -> None:
        """Count and store issues in the transaction of their results."""
        kept = add_issues(statistics, errors)
        await results.insert_errors(self._tx, key, task.run, kept.rows)
        await issues.insert_chunks(self._tx, key, task.run, pack_chunks(kept.further))
        if kept.further and has_ended(task.status):
            await schedule_packing(self._tx, self._jobs, key, is_late=True)

    def _of_run(self, reply: RunReply, statuses: Set[task_pb2.TaskStatus]) -> LockedTask | None:
        """Return the task of a reply; None: the reply is about an older run, or the task has another status."""
        task = self._found.get(key_of(reply))
        return task if task is not None and reply.run == task.run and task.status in statuses else None


def _is_refused(reply: OfferBatchResult) -> bool:
    return reply.outcome == offer_results_pb2.BATCH_OUTCOME_REFUSED

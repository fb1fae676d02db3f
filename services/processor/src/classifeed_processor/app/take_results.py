"""Taking in what the owner of the offers answered: counts, issues, and the end of tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from classifeed.feeds.v1 import offer_results_pb2, task_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_results_pb2 import OfferBatchResult, TaskEndResult
from classifeed_common.db import Tx
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.domain.statistics import add_counts, add_issues
from classifeed_processor.domain.tasks import MAX_INCOMPLETE_RUNS, TaskKey
from classifeed_processor.store import results, tasks
from classifeed_processor.store.results import LockedTask

_log = structlog.get_logger(__name__)
_IN_PROGRESS = task_pb2.TASK_STATUS_IN_PROGRESS
_HELD = task_pb2.TASK_STATUS_HELD

Answer = OfferBatchResult | TaskEndResult


async def take_results(tx: Tx, answers: Sequence[Answer]) -> set[TaskKey]:
    """Takes answers in and returns the tasks that they moved.

    All in the caller's transaction. Each batch counts once, however often its answer comes; answers about older runs
    and ended tasks change nothing.
    """
    found = await results.lock_tasks(tx, {_key(answer) for answer in answers})
    moved = await _take_batches(
        tx,
        found,
        [answer for answer in answers if isinstance(answer, OfferBatchResult) and _is_current(answer, found)],
    )
    for answer in answers:
        # Asked at each one: the same end may be answered twice in one poll.
        if isinstance(answer, TaskEndResult) and _is_current(answer, found):
            key = _key(answer)
            await _take_end(tx, key, found[key], answer)
            found[key] = replace(found[key], phase=task_pb2.TASK_PHASE_DONE)
            moved.add(key)
    return moved


def _key(answer: Answer) -> TaskKey:
    return TaskKey(answer.seller_id, answer.namespace, answer.task_id)


def _is_current(answer: Answer, found: Mapping[TaskKey, LockedTask]) -> bool:
    task = found.get(_key(answer))
    if task is None or answer.run != task.run:
        return False
    if isinstance(answer, OfferBatchResult):
        return task.status == _IN_PROGRESS
    # Not the second answer to an end that was said twice: the first one has moved the phase.
    return task.status in {_IN_PROGRESS, _HELD} and task.phase == task_pb2.TASK_PHASE_SENT


async def _take_batches(tx: Tx, found: dict[TaskKey, LockedTask], answers: Sequence[OfferBatchResult]) -> set[TaskKey]:
    first = await results.answer_batches(tx, [(_key(answer), answer.run, answer.batch_id) for answer in answers])
    by_task: defaultdict[TaskKey, list[OfferBatchResult]] = defaultdict(list)
    for answer in answers:
        key = _key(answer)
        if (key, answer.batch_id) in first:
            first.discard((key, answer.batch_id))
            by_task[key].append(answer)
    for key, batch_results in by_task.items():
        if any(result.outcome == offer_results_pb2.BATCH_OUTCOME_STALE for result in batch_results):
            # Of our own run nothing is stale unless a newer task of the namespace has begun at the owner.
            await tasks.end_task(tx, key, task_pb2.TASK_STATUS_SUPERSEDED)
            found[key] = replace(found[key], status=task_pb2.TASK_STATUS_SUPERSEDED)
        await _add_up(tx, key, found[key].run, batch_results)
        await results.touch_task(tx, key)
    return set(by_task)


async def _add_up(tx: Tx, key: TaskKey, run: int, batch_results: Sequence[OfferBatchResult]) -> None:
    statistics = await results.lock_statistics(tx, key, run)
    errors: list[OfferError] = []
    for result in batch_results:
        add_counts(statistics, result.counts)
        errors.extend(result.errors)
    add_issues(statistics, errors)
    await results.insert_errors(tx, key, run, errors)
    await results.save_statistics(tx, key, statistics, answered=True)


async def _take_end(tx: Tx, key: TaskKey, task: LockedTask, answer: TaskEndResult) -> None:
    _log.info("task.answered", task=key.name, run=answer.run, outcome=answer.outcome)
    match answer.outcome:
        case offer_results_pb2.TASK_END_OUTCOME_COMPLETED:
            statistics = await results.lock_statistics(tx, key, answer.run)
            statistics.removed = answer.removed
            statistics.made_manual = answer.made_manual
            await results.save_statistics(tx, key, statistics, answered=True)
            await tasks.end_task(tx, key, task_pb2.TASK_STATUS_SUCCEEDED)
        case offer_results_pb2.TASK_END_OUTCOME_INCOMPLETE:
            if task.incomplete_runs + 1 < MAX_INCOMPLETE_RUNS:
                await tasks.await_rerun(tx, key)
            else:
                missing = ", ".join(map(str, answer.missing_batches[:5])) or "none that is known"
                fault = FeedFault(
                    "RUNS_EXHAUSTED", f"The owner of the offers missed batches in three runs (last missing: {missing})"
                )
                await tasks.end_task(tx, key, task_pb2.TASK_STATUS_FAILED, fault)
        case offer_results_pb2.TASK_END_OUTCOME_STALE:
            await tasks.end_task(tx, key, task_pb2.TASK_STATUS_SUPERSEDED)
        case offer_results_pb2.TASK_END_OUTCOME_HELD:
            await tasks.hold_task(tx, key)

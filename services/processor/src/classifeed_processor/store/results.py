"""Statements of the consumer of results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_results_pb2 import LateError
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store.keys import split_key

_SQL: Final = load_queries(__package__, "results.sql")
_LOCK_TASKS = _SQL["lock_tasks"]
_NOTE_REPLIES = _SQL["note_replies"]
_LOCK_STATISTICS = _SQL["lock_statistics"]
_SAVE_STATISTICS = _SQL["save_statistics"]
_TOUCH_TASK = _SQL["touch_task"]
_INSERT_ERRORS = _SQL["insert_errors"]
_NOTE_LATE_ERRORS = _SQL["note_late_errors"]


@dataclass(frozen=True, slots=True)
class LockedTask:
    """State of a task, for the consumer.

    `window` is a value of `Window`. `sent_s` is the time since all batches of its run were acknowledged, in seconds.
    """

    status: int
    phase: int
    run: int
    incomplete_runs: int
    window: int
    job_id: UUID | None
    sent_s: float | None
    decision: int


async def lock_tasks(tx: Tx, keys: Collection[TaskKey]) -> dict[TaskKey, LockedTask]:
    """Lock the tasks that exist until the transaction ends, and return them."""
    columns = {
        "sellers": [key.seller_id for key in keys],
        "namespaces": [key.namespace for key in keys],
        "task_ids": [key.task_id for key in keys],
    }
    found = map(split_key, await fetch_named(tx, _LOCK_TASKS, columns))
    return {key: LockedTask(**state) for key, state in found}


async def note_replies(tx: Tx, batches: Sequence[tuple[TaskKey, int, int]]) -> set[tuple[TaskKey, int]]:
    """Store the replies to batches (task, run, number); return the batches with a first reply, as (task, number)."""
    if not batches:
        return set()
    columns = {
        "sellers": [key.seller_id for key, _, _ in batches],
        "namespaces": [key.namespace for key, _, _ in batches],
        "task_ids": [key.task_id for key, _, _ in batches],
        "runs": [run for _, run, _ in batches],
        "batch_ids": [number for _, _, number in batches],
    }
    rows = await (await tx.execute(_NOTE_REPLIES, columns)).fetchall()
    return {(TaskKey(*row[:3]), row[3]) for row in rows}


async def lock_statistics(tx: Tx, key: TaskKey, run: int) -> FeedStatistics:
    """Lock the statistics of a run until the transaction ends, and return them; empty: there are none."""
    row = await (await tx.execute(_LOCK_STATISTICS, key._asdict())).fetchone()
    return FeedStatistics.FromString(row[1]) if row is not None and row[0] == run else FeedStatistics()


async def save_statistics(tx: Tx, key: TaskKey, statistics: FeedStatistics, *, replied: bool) -> None:
    """Write statistics; `replied` updates the times of the first and the last reply."""
    columns = {"statistics": statistics.SerializeToString(), "replied": replied}
    await tx.execute(_SAVE_STATISTICS, {**key._asdict(), **columns})


async def touch_task(tx: Tx, key: TaskKey) -> None:
    """Update the time of the task's last change."""
    await tx.execute(_TOUCH_TASK, key._asdict())


async def insert_errors(tx: Tx, key: TaskKey, run: int, errors: Sequence[OfferError]) -> None:
    """Insert issues; an issue that exists already is not inserted again."""
    unique = {(error.external_id, error.error_id): error for error in errors}
    if not unique:
        return
    rows = list(unique.values())
    columns = {
        "external_ids": [row.external_id for row in rows],
        "error_ids": [row.error_id for row in rows],
        "ordinals": [row.ordinal for row in rows],
        "levels": [row.level for row in rows],
        "kinds": [row.kind for row in rows],
        "codes": [row.code for row in rows],
        "fields": [row.field for row in rows],
        "lines": [row.line for row in rows],
        "columns": [row.column for row in rows],
        "paths": [row.path for row in rows],
        "excerpts": [row.excerpt for row in rows],
        "values": [row.value for row in rows],
        "expecteds": [row.expected for row in rows],
        "titles": [row.title for row in rows],
        "messages": [row.message for row in rows],
        "suggestions": [row.suggestion for row in rows],
        "counts": [row.count or 1 for row in rows],
        "parameters": [OfferError(parameters=row.parameters).SerializeToString() for row in rows],
    }
    await tx.execute(_INSERT_ERRORS, {**key._asdict(), "run": run, **columns})


async def note_late_errors(tx: Tx, key: TaskKey, late: Sequence[LateError], *, limit: int) -> set[tuple[str, str]]:
    """Store late errors; return the new ones, as (external id, error id).

    Args:
        tx: open transaction.
        key: key of the task.
        late: late errors.
        limit: maximum number of the task's rows up to which errors that move no count are stored; errors beyond it
            are new each time.
    """
    columns = {
        "external_ids": [each.error.external_id for each in late],
        "error_ids": [each.error.error_id for each in late],
        "move": [bool(each.counted) for each in late],
        "limit": limit,
    }
    rows = await (await tx.execute(_NOTE_LATE_ERRORS, {**key._asdict(), **columns})).fetchall()
    return {(row[0], row[1]) for row in rows}

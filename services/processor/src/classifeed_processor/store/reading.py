"""Reads for the gRPC entry points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_pb2 import FeedStatistics, Task
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_processor.domain.tasks import TaskKey, fetch_name
from classifeed_processor.store.keys import split_key

_SQL: Final = load_queries(__package__, "reading.sql")
_GET_TASK = _SQL["get_task"]
_LIST_TASKS = _SQL["list_tasks"]
_LIST_EXISTING_TASKS = _SQL["list_existing_tasks"]
_LIST_STANDINGS = _SQL["list_standings"]
_LIST_ERRORS = _SQL["list_errors"]
_FIND_BATCH = _SQL["find_batch"]
_FIRST_SENT = _SQL["first_sent"]
_COUNT_OPEN = _SQL["count_open"]
_COUNT_HELD = _SQL["count_held"]
_COUNT_UNHEARD = _SQL["count_unheard"]
_COUNT_FAILING_JOBS = _SQL["count_failing_jobs"]


class SentBatch(NamedTuple):
    """A batch that was sent, with the time of its reply if there is one."""

    batch_id: int
    sent_at: datetime
    replied_at: datetime | None


async def find_task(tx: Tx, key: TaskKey) -> Task | None:
    """Return a task with its statistics; None: it does not exist."""
    rows = await fetch_named(tx, _GET_TASK, key._asdict())
    return _task(rows[0]) if rows else None


async def list_tasks(tx: Tx, seller_id: str, namespace: str, *, before: int, limit: int) -> list[Task]:
    """Return tasks of a namespace with smaller ids than `before`, the newest first."""
    parameters = {"seller_id": seller_id, "namespace": namespace, "before": before, "limit": limit}
    return [_task(row) for row in await fetch_named(tx, _LIST_TASKS, parameters)]


async def list_known(tx: Tx, keys: Sequence[TaskKey]) -> list[TaskKey]:
    """Return the keys of the tasks that exist."""
    return [TaskKey(*row) for row in await (await tx.execute(_LIST_EXISTING_TASKS, _named(keys))).fetchall()]


async def list_standings(tx: Tx, keys: Sequence[TaskKey]) -> list[Task]:
    """Return kind, status, phase, error and counts of the tasks that exist."""
    return [_standing(row) for row in await fetch_named(tx, _LIST_STANDINGS, _named(keys))]


async def list_errors(tx: Tx, key: TaskKey, run: int, parameters: dict[str, Any]) -> list[OfferError]:
    """Return issues of a run that have rows, errors before warnings, each in the order of the file."""
    rows = await fetch_named(tx, _LIST_ERRORS, {**key._asdict(), "run": run, **parameters})
    return [_error_of(row._asdict()) for row in rows]


def _error_of(columns: dict[str, Any]) -> OfferError:
    parameters = columns.pop("parameters")
    error = OfferError(**columns)
    error.MergeFromString(parameters)
    return error


async def find_batch(tx: Tx, key: TaskKey, run: int, ordinal: int) -> SentBatch | None:
    """Return the batch of a run that contains the offer with this number in the file; None: it was not sent."""
    row = await (await tx.execute(_FIND_BATCH, {**key._asdict(), "run": run, "ordinal": ordinal})).fetchone()
    return None if row is None else SentBatch(*row)


async def first_sent(tx: Tx, key: TaskKey, run: int) -> datetime | None:
    """Return the time at which the first batch of a run was sent; None: none was sent."""
    row = await (await tx.execute(_FIRST_SENT, {**key._asdict(), "run": run})).fetchone()
    return None if row is None else row[0]


async def count_open(tx: Tx) -> int:
    """Return the number of tasks that are queued, run, or wait for replies."""
    row = await (await tx.execute(_COUNT_OPEN, {"held": task_pb2.TASK_STATUS_HELD})).fetchone()
    assert row is not None
    return int(row[0])


async def count_held(tx: Tx) -> tuple[int, float]:
    """Return the number of held tasks, and the waiting time of the oldest, in seconds."""
    row = await (await tx.execute(_COUNT_HELD, {"held": task_pb2.TASK_STATUS_HELD})).fetchone()
    assert row is not None
    return row[0], row[1]


async def count_unheard(tx: Tx, asks: int) -> tuple[int, float]:
    """Return the number of tasks with at least `asks` requests without a reply, and the longest wait, in seconds."""
    row = await (await tx.execute(_COUNT_UNHEARD, {"asks": asks})).fetchone()
    assert row is not None
    return row[0], row[1]


async def count_failing_jobs(tx: Tx, queue: str, attempts: int) -> tuple[int, str]:
    """Return the number of a queue's jobs that wait after at least `attempts` attempts, and an error of one of them."""
    row = await (await tx.execute(_COUNT_FAILING_JOBS, {"queue": queue, "attempts": attempts})).fetchone()
    assert row is not None
    return row[0], row[1]


def _named(keys: Sequence[TaskKey]) -> dict[str, list[Any]]:
    return {
        "sellers": [key.seller_id for key in keys],
        "namespaces": [key.namespace for key in keys],
        "task_ids": [key.task_id for key in keys],
    }


def _standing(row: Any) -> Task:
    key, columns = split_key(row)
    statistics = FeedStatistics.FromString(columns.pop("statistics") or b"")
    task = Task(name=key.name, **key._asdict(), **columns)
    task.statistics.CopyFrom(statistics)
    for detail in ("issues", "stages"):
        task.statistics.ClearField(detail)
    return task


def _task(row: Any) -> Task:
    key, _ = split_key(row)
    task = Task(
        name=key.name,
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        kind=row.kind,
        status=row.status,
        phase=row.phase,
        run=row.run,
        mode=row.mode,
        disposition=row.disposition,
        upload_id=row.upload_id or "",
        source_sha256=row.source_sha256,
        source_bytes=row.source_bytes,
        file_name=row.file_name,
        format=row.format,
        expected_total=row.expected_total,
        warnings=row.warnings,
        error_code=row.error_code,
        error_message=row.error_message,
        error_line=row.error_line,
        error_column=row.error_column,
        feed_version=row.feed_version,
        decision=row.decision,
    )
    task.create_time.FromDatetime(row.created_at)
    task.update_time.FromDatetime(row.updated_at)
    if row.ended_at is not None:
        task.end_time.FromDatetime(row.ended_at)
    task.statistics.CopyFrom(FeedStatistics.FromString(row.statistics or b""))
    if row.reply_s:
        task.statistics.offers_per_second = task.statistics.total / row.reply_s
    if row.feed_loader_result_id is not None:
        task.fetch = fetch_name(key.seller_id, key.namespace, row.feed_loader_result_id)
    if row.hold is not None:
        task.hold.ParseFromString(row.hold)
    if row.rerun_of is not None:
        task.rerun_of = key._replace(task_id=row.rerun_of).name
    return task

"""Reads for the gRPC entry points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_pb2 import FeedStatistics, Task
from classifeed_common.db import Tx, load_queries
from classifeed_processor.domain.tasks import TaskKey, fetch_name

_SQL = load_queries(__package__, "reading.sql")
_GET_TASK = _SQL["get_task"]
_LIST_TASKS = _SQL["list_tasks"]
_FIND_TASKS = _SQL["find_tasks"]
_FIND_STANDINGS = _SQL["find_standings"]
_LIST_ERRORS = _SQL["list_errors"]
_FIND_BATCH = _SQL["find_batch"]
_FIRST_SENT = _SQL["first_sent"]
_COUNT_OPEN = _SQL["count_open"]
_COUNT_HELD = _SQL["count_held"]
_COUNT_UNHEARD = _SQL["count_unheard"]


class SentBatch(NamedTuple):
    """A batch on its way, or back."""

    batch_id: int
    sent_at: datetime
    replied_at: datetime | None


async def get_task(tx: Tx, key: TaskKey) -> Task | None:
    """Return one task with its statistics; None when there is none."""
    row = await (await tx.execute(_GET_TASK, key._asdict())).fetchone()
    return None if row is None else _task(row)


async def list_tasks(tx: Tx, seller_id: str, namespace: str, *, before: int, limit: int) -> list[Task]:
    """Return tasks of a namespace with smaller ids than `before`, the newest first."""
    parameters = {"seller_id": seller_id, "namespace": namespace, "before": before, "limit": limit}
    return [_task(row) for row in await (await tx.execute(_LIST_TASKS, parameters)).fetchall()]


async def find_tasks(tx: Tx, keys: Sequence[TaskKey]) -> list[TaskKey]:
    """Return those of the tasks that there are."""
    return [TaskKey(*row) for row in await (await tx.execute(_FIND_TASKS, _named(keys))).fetchall()]


async def find_standings(tx: Tx, keys: Sequence[TaskKey]) -> list[Task]:
    """Return how those of the tasks stand that there are: kind, status, phase, error and counts."""
    rows = await (await tx.execute(_FIND_STANDINGS, _named(keys))).fetchall()
    return [_standing(TaskKey(*row[:3]), row[3:]) for row in rows]


async def list_errors(tx: Tx, key: TaskKey, run: int, parameters: dict[str, Any]) -> list[OfferError]:
    """Return issues of a task's run, errors before warnings, each in the order of the file."""
    rows = await (await tx.execute(_LIST_ERRORS, {**key._asdict(), "run": run, **parameters})).fetchall()
    names = (
        "external_id", "error_id", "ordinal", "level", "kind", "code", "field", "line", "column", "path", "excerpt",
        "value", "expected", "title", "message", "suggestion", "count",
    )  # fmt: skip
    return [OfferError(task=key.name, **dict(zip(names, row, strict=True))) for row in rows]


async def find_batch(tx: Tx, key: TaskKey, run: int, ordinal: int) -> SentBatch | None:
    """Return the batch of a run that the offer at this position of the file is in; None when it was not sent."""
    row = await (await tx.execute(_FIND_BATCH, {**key._asdict(), "run": run, "ordinal": ordinal})).fetchone()
    return None if row is None else SentBatch(*row)


async def first_sent(tx: Tx, key: TaskKey, run: int) -> datetime | None:
    """Return when the first batch of a run was sent; None when none was."""
    row = await (await tx.execute(_FIRST_SENT, {**key._asdict(), "run": run})).fetchone()
    return None if row is None else row[0]


async def count_open(tx: Tx) -> int:
    """Return how many tasks wait, run, or wait for their replies."""
    row = await (await tx.execute(_COUNT_OPEN, {"held": task_pb2.TASK_STATUS_HELD})).fetchone()
    assert row is not None
    return int(row[0])


async def count_held(tx: Tx) -> tuple[int, float]:
    """Return how many tasks wait for a decision, and for how many seconds the first has waited."""
    row = await (await tx.execute(_COUNT_HELD, {"held": task_pb2.TASK_STATUS_HELD})).fetchone()
    assert row is not None
    return row[0], row[1]


async def count_unheard(tx: Tx, asks: int) -> tuple[int, float]:
    """Return how many tasks have asked for replies so often in vain, and for how many seconds the first has waited."""
    row = await (await tx.execute(_COUNT_UNHEARD, {"asks": asks})).fetchone()
    assert row is not None
    return row[0], row[1]


def _named(keys: Sequence[TaskKey]) -> dict[str, list[Any]]:
    return {
        "sellers": [key.seller_id for key in keys],
        "namespaces": [key.namespace for key in keys],
        "task_ids": [key.task_id for key in keys],
    }


def _standing(key: TaskKey, row: tuple[Any, ...]) -> Task:
    names = ("kind", "status", "phase", "error_code", "error_message", "error_line")
    task = Task(
        name=key.name,
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        **dict(zip(names, row[:-1], strict=True)),
    )
    task.statistics.CopyFrom(FeedStatistics.FromString(row[-1] or b""))
    for detail in ("issues", "stages"):
        task.statistics.ClearField(detail)
    return task


def _task(row: tuple[Any, ...]) -> Task:
    key = TaskKey(*row[:3])
    task = Task(
        name=key.name,
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        kind=row[3],
        status=row[4],
        phase=row[5],
        run=row[6],
        mode=row[7],
        disposition=row[8],
        upload_id=row[9] or "",
        source_sha256=row[10],
        source_bytes=row[11],
        file_name=row[12],
        format=row[13],
        expected_total=row[14],
        warnings=row[15],
        error_code=row[16],
        error_message=row[17],
        error_line=row[18],
        error_column=row[19],
    )
    task.create_time.FromDatetime(row[20])
    task.update_time.FromDatetime(row[21])
    if row[22] is not None:
        task.end_time.FromDatetime(row[22])
    task.statistics.CopyFrom(FeedStatistics.FromString(row[23] or b""))
    if row[24]:
        task.statistics.offers_per_second = task.statistics.total / row[24]
    if row[25] is not None:
        task.fetch = fetch_name(key.seller_id, key.namespace, row[25])
    task.feed_version = row[26]
    if row[27] is not None:
        task.hold.ParseFromString(row[27])
    task.decision = row[28]
    if row[29] is not None:
        task.rerun_of = TaskKey(key.seller_id, key.namespace, row[29]).name
    return task

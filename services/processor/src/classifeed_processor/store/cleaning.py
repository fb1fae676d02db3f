"""Statements of the clean-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from classifeed.feeds.v1 import task_pb2
from classifeed_common.db import Tx, load_queries
from classifeed_processor.domain.feed_order import FINISHED
from classifeed_processor.domain.tasks import TaskKey

_SQL: Final = load_queries(__package__, "cleaning.sql")
_LIST_NAMESPACES = _SQL["list_namespaces"]
_LIST_OLD_TASKS = _SQL["list_old_tasks"]
_DELETE_ERRORS = _SQL["delete_errors"]
_DELETE_LATE_ERRORS = _SQL["delete_late_errors"]
_DELETE_BATCHES = _SQL["delete_batches"]
_DELETE_CHUNKS = _SQL["delete_chunks"]
_DELETE_FILES = _SQL["delete_files"]
_DELETE_STATISTICS = _SQL["delete_statistics"]
_DELETE_TASKS = _SQL["delete_tasks"]
_STATUSES = {
    "succeeded": task_pb2.TASK_STATUS_SUCCEEDED,
    "superseded": task_pb2.TASK_STATUS_SUPERSEDED,
    "canceled": task_pb2.TASK_STATUS_CANCELED,
    "finished": list(FINISHED),
}


async def list_namespaces(tx: Tx, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
    """Return namespaces that ever had a task, as (seller, namespace), sorted, after the namespace `after`."""
    parameters = {"seller_id": after[0], "namespace": after[1], "limit": limit}
    return [(row[0], row[1]) for row in await (await tx.execute(_LIST_NAMESPACES, parameters)).fetchall()]


async def list_old_tasks(tx: Tx, namespaces: Sequence[tuple[str, str]], *, kept: int, limit: int) -> list[TaskKey]:
    """Return at most `limit` tasks of the namespaces to delete; `kept` tasks are kept in each namespace."""
    parameters = {
        "sellers": [seller for seller, _ in namespaces],
        "namespaces": [namespace for _, namespace in namespaces],
        "kept": kept,
        "limit": limit,
        **_STATUSES,
    }
    return [TaskKey(*row) for row in await (await tx.execute(_LIST_OLD_TASKS, parameters)).fetchall()]


async def delete_details(tx: Tx, keys: Sequence[TaskKey], limit: int) -> tuple[int, ...]:
    """Delete issues, late errors, chunks and batches of tasks, at most `limit` of each; return the number of each."""
    parameters = {**_columns(keys), "limit": limit}
    errors = await tx.execute(_DELETE_ERRORS, parameters)
    late = await tx.execute(_DELETE_LATE_ERRORS, parameters)
    chunks = await tx.execute(_DELETE_CHUNKS, parameters)
    batches = await tx.execute(_DELETE_BATCHES, parameters)
    return errors.rowcount, late.rowcount, chunks.rowcount, batches.rowcount


async def delete_tasks(tx: Tx, keys: Sequence[TaskKey]) -> int:
    """Delete ended tasks with statistics and files, after their details; return the number of deleted rows."""
    parameters = _columns(keys)
    await tx.execute(_DELETE_FILES, parameters)
    statistics = await tx.execute(_DELETE_STATISTICS, parameters)
    return statistics.rowcount + (await tx.execute(_DELETE_TASKS, parameters)).rowcount


def _columns(keys: Sequence[TaskKey]) -> dict[str, Any]:
    return {
        "sellers": [key.seller_id for key in keys],
        "namespaces": [key.namespace for key in keys],
        "task_ids": [key.task_id for key in keys],
    }

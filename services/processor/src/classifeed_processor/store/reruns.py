"""Statements about tasks that load the file of an earlier task again."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from classifeed.feeds.v1 import task_pb2
from classifeed_common.db import Tx, load_queries
from classifeed_processor.domain.tasks import TaskKey

_SQL: Final = load_queries(__package__, "reruns.sql")
_FIND_RERUN = _SQL["find_rerun"]
_LOCK_EARLIER = _SQL["lock_earlier"]
_INSERT_RERUN = _SQL["insert_rerun"]
_COUNT_OPEN = _SQL["count_open_reruns"]


class MadeRerun(NamedTuple):
    """A task that a request has created, and the task whose file it loads."""

    key: TaskKey
    earlier: TaskKey


class Earlier(NamedTuple):
    """An earlier task, as read for its rerun."""

    kind: task_pb2.TaskKind
    status: task_pb2.TaskStatus
    source_sha256: str


async def find_rerun(tx: Tx, seller_id: str, request_id: str) -> MadeRerun | None:
    """Return the task that a request of the seller has created; None: there is none."""
    parameters = {"seller_id": seller_id, "request_id": request_id}
    row = await (await tx.execute(_FIND_RERUN, parameters)).fetchone()
    return None if row is None else MadeRerun(TaskKey(*row[:3]), TaskKey(row[0], row[1], row[3]))


async def lock_earlier(tx: Tx, key: TaskKey) -> Earlier | None:
    """Return a task, locked against deletion until the transaction ends; None: it does not exist."""
    row = await (await tx.execute(_LOCK_EARLIER, key._asdict())).fetchone()
    return None if row is None else Earlier(*row)


async def count_open(tx: Tx, seller_id: str, namespace: str) -> int:
    """Return the number of open reruns in a namespace; exact while the namespace's counter is locked."""
    row = await (await tx.execute(_COUNT_OPEN, {"seller_id": seller_id, "namespace": namespace})).fetchone()
    return 0 if row is None else int(row[0])


async def insert_rerun(tx: Tx, key: TaskKey, earlier: TaskKey, columns: dict[str, Any], job_id: UUID) -> None:
    """Insert a task that copies an earlier one, which is locked."""
    parameters = {**columns, **key._asdict(), "earlier": earlier.task_id, "job_id": job_id}
    await tx.execute(_INSERT_RERUN, parameters)

"""Statements about tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.load_pb2 import LoadHold
from classifeed.feeds.v1.offer_requests_pb2 import HoldDecision
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_feeds.faults import FeedFault
from classifeed_processor.domain.feed_order import FeedMarks, FetchOrder
from classifeed_processor.domain.made_task import MadeTask
from classifeed_processor.domain.tasks import TaskKey, TaskState, Window
from classifeed_processor.domain.wanted_task import WantedTask
from classifeed_processor.store.keys import split_key

_SQL: Final = load_queries(__package__, "tasks.sql")
_LOCK_COUNTER = _SQL["lock_counter"]
_FIND_UPLOAD = _SQL["find_upload"]
_FIND_FETCH = _SQL["find_fetch"]
_FIND_REMOVAL = _SQL["find_removal"]
_FIND_NEWEST = _SQL["find_newest"]
_FIND_NEWEST_FETCH = _SQL["find_newest_fetch"]
_FIND_REMOVED_VERSION = _SQL["find_removed_version"]
_DRAW_TASK_ID = _SQL["draw_task_id"]
_INSERT_TASK = _SQL["insert_task"]
_LOCK_TASK = _SQL["lock_task"]
_FIND_JOB = _SQL["find_job"]
_READ_STATE = _SQL["read_state"]
_HAS_EARLIER = _SQL["has_earlier"]
_SUPERSEDE_HELD = _SQL["supersede_held"]
_BEGIN_RUN = _SQL["begin_run"]
_DROP_BATCHES = _SQL["drop_batches"]
_DROP_ERRORS = _SQL["drop_errors"]
_DROP_CHUNKS = _SQL["drop_chunks"]
_BEGIN_STATISTICS = _SQL["begin_statistics"]
_NOTE_SCAN = _SQL["note_scan"]
_INSERT_BATCHES = _SQL["insert_batches"]
_COUNT_UNANSWERED = _SQL["count_unanswered"]
_NOTE_SENT = _SQL["note_sent"]
_END_TASK = _SQL["end_task"]
_HOLD_TASK = _SQL["hold_task"]
_NOTE_DECISION = _SQL["note_decision"]
_AWAIT_RERUN = _SQL["await_rerun"]
_LIST_UNANSWERED = _SQL["list_unanswered"]
_FIND_LAST_BATCH = _SQL["find_last_batch"]
_STALL = _SQL["stall"]
_NOTE_REQUEST = _SQL["note_request"]
_NOTE_REPORTED = _SQL["note_reported"]
_RESUME = _SQL["resume"]
_WARN = _SQL["warn"]
_FIND_NEXT_JOB = _SQL["find_next_job"]

_PARSING = {"parsing": task_pb2.TASK_PHASE_PARSING}


def _key(key: TaskKey) -> dict[str, Any]:
    return key._asdict()


async def lock_counter(tx: Tx, seller_id: str, namespace: str) -> None:
    """Lock the namespace against the creation of other tasks until the transaction ends."""
    await tx.execute(_LOCK_COUNTER, {"seller_id": seller_id, "namespace": namespace})


async def find_made(tx: Tx, wanted: WantedTask) -> MadeTask | None:
    """Return the task of the same upload, fetch or removal; None: there is none."""
    if wanted.upload_id is not None:
        return await _find(tx, _FIND_UPLOAD, {"upload_id": wanted.upload_id})
    if wanted.feed_loader_result_id is not None:
        fetch = {
            "feed_loader_task_id": wanted.feed_loader_task_id,
            "feed_loader_result_id": wanted.feed_loader_result_id,
        }
        return await _find(tx, _FIND_FETCH, fetch)
    removal = {"seller_id": wanted.seller_id, "namespace": wanted.namespace, "feed_version": wanted.feed_version}
    return await _find(tx, _FIND_REMOVAL, removal)


async def find_newest(tx: Tx, seller_id: str, namespace: str) -> MadeTask | None:
    """Return the newest task of a namespace that was neither superseded nor canceled before it began; None: none."""
    not_run = {"superseded": task_pb2.TASK_STATUS_SUPERSEDED, "canceled": task_pb2.TASK_STATUS_CANCELED}
    return await _find(tx, _FIND_NEWEST, {"seller_id": seller_id, "namespace": namespace, **not_run})


async def _find(tx: Tx, statement: str, parameters: dict[str, Any]) -> MadeTask | None:
    for row in await fetch_named(tx, statement, parameters):
        key, columns = split_key(row)
        return MadeTask(key, **columns)
    return None


async def get_marks(tx: Tx, seller_id: str, namespace: str, statuses: Sequence[task_pb2.TaskStatus]) -> FeedMarks:
    """Return the newest removal of a namespace, and its newest fetch whose task has one of these statuses."""
    names = {"seller_id": seller_id, "namespace": namespace}
    fetch = await (await tx.execute(_FIND_NEWEST_FETCH, {**names, "statuses": list(statuses)})).fetchone()
    removed = await (await tx.execute(_FIND_REMOVED_VERSION, names)).fetchone()
    assert removed is not None
    return FeedMarks(None if fetch is None else FetchOrder(*fetch), removed[0])


async def draw_key(tx: Tx, seller_id: str, namespace: str) -> TaskKey:
    """Return the key of the next task of a namespace, whose counter is locked.

    An id is never assigned twice, even by a restored database, because no id is below the clock in µs.
    """
    names = {"seller_id": seller_id, "namespace": namespace}
    row = await (await tx.execute(_DRAW_TASK_ID, names)).fetchone()
    assert row is not None
    return TaskKey(seller_id, namespace, row[0])


async def insert_task(tx: Tx, key: TaskKey, job_id: UUID, columns: dict[str, Any]) -> None:
    """Insert a task with its job."""
    await tx.execute(_INSERT_TASK, {**columns, **_key(key), "job_id": job_id})


async def lock_task(tx: Tx, key: TaskKey) -> TaskState | None:
    """Lock a task until the transaction ends, and return it; None: it does not exist."""
    rows = await fetch_named(tx, _LOCK_TASK, _key(key))
    return TaskState(**rows[0]._asdict()) if rows else None


async def find_job(tx: Tx, key: TaskKey) -> UUID | None:
    """Return the job that runs a task; None: there is none."""
    row = await (await tx.execute(_FIND_JOB, _key(key))).fetchone()
    return None if row is None else row[0]


async def get_state(tx: Tx, key: TaskKey) -> tuple[int, int, int]:
    """Return the current status, phase and run."""
    row = await (await tx.execute(_READ_STATE, _key(key))).fetchone()
    if row is None:
        raise LookupError(f"there is no {key.name}")
    return row[0], row[1], row[2]


async def has_earlier(tx: Tx, key: TaskKey) -> bool:
    """Return whether an earlier task of the namespace still has to run."""
    row = await (await tx.execute(_HAS_EARLIER, {**_key(key), "held": task_pb2.TASK_STATUS_HELD})).fetchone()
    assert row is not None
    return bool(row[0])


async def supersede_held(tx: Tx, key: TaskKey) -> list[TaskKey]:
    """End the held tasks before this one, because this load replaces them, and return them."""
    states = {
        "superseded": task_pb2.TASK_STATUS_SUPERSEDED,
        "held": task_pb2.TASK_STATUS_HELD,
        "done": task_pb2.TASK_PHASE_DONE,
    }
    rows = await (await tx.execute(_SUPERSEDE_HELD, {**_key(key), **states})).fetchall()
    return [key._replace(task_id=row[0]) for row in rows]


async def begin_run(tx: Tx, key: TaskKey, statistics: bytes) -> int:
    """Open the next run with new statistics, delete the data of earlier runs, and return the run's number."""
    row = await (await tx.execute(_BEGIN_RUN, {**_key(key), **_PARSING})).fetchone()
    assert row is not None
    run = int(row[0])
    await tx.execute(_DROP_BATCHES, {**_key(key), "run": run})
    await tx.execute(_DROP_ERRORS, {**_key(key), "run": run})
    await tx.execute(_DROP_CHUNKS, {**_key(key), "run": run})
    await tx.execute(_BEGIN_STATISTICS, {**_key(key), "run": run, "statistics": statistics})
    return run


async def note_scan(
    tx: Tx, key: TaskKey, run: int, *, format_name: str, expected_total: int, warnings: Sequence[str]
) -> None:
    """Store the results of the first pass."""
    found = {"format": format_name, "expected_total": expected_total, "warnings": list(warnings), "run": run}
    await tx.execute(_NOTE_SCAN, {**_key(key), **found})


async def insert_batches(tx: Tx, key: TaskKey, run: int, batches: Sequence[tuple[int, int]]) -> None:
    """Insert batches (number, records) that are about to be sent; from now on their replies are awaited."""
    columns = {"batch_ids": [number for number, _ in batches], "records": [records for _, records in batches]}
    await tx.execute(_INSERT_BATCHES, {**_key(key), "run": run, **columns})


async def count_unanswered(tx: Tx, key: TaskKey, run: int) -> int:
    """Return the number of unanswered batches of a run."""
    row = await (await tx.execute(_COUNT_UNANSWERED, {**_key(key), "run": run})).fetchone()
    assert row is not None
    return int(row[0])


async def list_unanswered(tx: Tx, key: TaskKey, run: int) -> set[int]:
    """Return the numbers of the unanswered batches of a run."""
    rows = await (await tx.execute(_LIST_UNANSWERED, {**_key(key), "run": run})).fetchall()
    return {row[0] for row in rows}


async def find_last_batch(tx: Tx, key: TaskKey, run: int) -> int:
    """Return the number of the last sent batch of a run; 0: none was sent."""
    row = await (await tx.execute(_FIND_LAST_BATCH, {**_key(key), "run": run})).fetchone()
    assert row is not None
    return int(row[0])


async def note_sent(tx: Tx, key: TaskKey, run: int, *, batch_count: int, digest: bytes) -> None:
    """Store that all batches were acknowledged, with the fields of TaskEnd."""
    sent = {"sent": task_pb2.TASK_PHASE_SENT, "batch_count": batch_count, "digest": digest, "run": run}
    await tx.execute(_NOTE_SENT, {**_key(key), **sent})


async def end_task(
    tx: Tx,
    key: TaskKey,
    status: task_pb2.TaskStatus,
    fault: FeedFault | None = None,
    *,
    is_fetched: bool = False,
) -> bool:
    """End a task, and return whether it was open before; `is_fetched` selects the text of the fault."""
    columns = {
        "status": status,
        "done": task_pb2.TASK_PHASE_DONE,
        "error_code": fault.code if fault else "",
        "error_message": fault.describe(is_fetched=is_fetched) if fault else "",
        "error_line": fault.line if fault else 0,
        "error_column": fault.column if fault else 0,
    }
    return (await tx.execute(_END_TASK, {**_key(key), **columns})).rowcount > 0


async def hold_task(tx: Tx, key: TaskKey, hold: LoadHold) -> None:
    """Hold a task until a decision."""
    columns = {"held": task_pb2.TASK_STATUS_HELD, "hold": hold.SerializeToString()}
    await tx.execute(_HOLD_TASK, {**_key(key), **columns})


async def note_decision(tx: Tx, key: TaskKey, decision: HoldDecision, job_id: UUID) -> None:
    """Store the decision about a held task, which is locked, and the job that sends TaskEnd again with it."""
    columns = {"in_progress": task_pb2.TASK_STATUS_IN_PROGRESS, "decision": decision, "job_id": job_id}
    await tx.execute(_NOTE_DECISION, {**_key(key), **columns})


async def await_rerun(tx: Tx, key: TaskKey) -> None:
    """Let the task's job start a new run, because batches were lost; replies about the old run are then ignored."""
    await tx.execute(_AWAIT_RERUN, {**_key(key), **_PARSING})


async def stall(tx: Tx, key: TaskKey, run: int) -> None:
    """Mark a run as stalled, because its window is full and no reply comes, unless the task has a newer run."""
    await tx.execute(_STALL, {**_key(key), "run": run, "stalled": Window.STALLED})


async def note_request(tx: Tx, key: TaskKey) -> None:
    """Store that the awaited reply is requested again. The task is locked."""
    await tx.execute(_NOTE_REQUEST, _key(key))


async def note_reported(tx: Tx, key: TaskKey, *, is_lost: bool) -> None:
    """Let the task's job continue the run and send unanswered batches again; `is_lost` counts towards the limit."""
    await tx.execute(_NOTE_REPORTED, {**_key(key), **_PARSING, "reported": Window.REPORTED, "losses": int(is_lost)})


async def resume(tx: Tx, key: TaskKey) -> None:
    """Store that the job continues a stalled run."""
    await tx.execute(_RESUME, _key(key))


async def warn(tx: Tx, key: TaskKey, warning: str) -> None:
    """Add a warning for the seller to a task."""
    await tx.execute(_WARN, {**_key(key), "warning": warning})


async def find_next_job(tx: Tx, key: TaskKey) -> UUID | None:
    """Return the job of the namespace's first task that waits for the end of this one; None: there is none."""
    row = await (await tx.execute(_FIND_NEXT_JOB, {**_key(key), "held": task_pb2.TASK_STATUS_HELD})).fetchone()
    return None if row is None else row[0]

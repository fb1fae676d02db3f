"""Damage: jobs that make a batch statement fail are found one by one, and set aside (ADR 0093)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final
from uuid import UUID

import structlog

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_common.errors import name_fault
from classifeed_common.faults.passing import is_passing
from classifeed_jobs.metrics import SET_ASIDE
from classifeed_jobs.model.failure_hooks import HookFailed, call_hooks
from classifeed_jobs.model.storable import clean_text
from classifeed_jobs.model.stored import UNREADABLE, read_json
from classifeed_jobs.model.task import FailedJob, Task
from classifeed_jobs.schema.promotion import promote_next

_log = structlog.get_logger("classifeed_jobs.claim.damage")
_SQL = load_queries("classifeed_jobs.claim", "damage.sql")
_LIST_SUSPECTS = _SQL["list_suspects"]
_EXAMINE = _SQL["examine_jobs"]
_SET_ASIDE = _SQL["set_aside"]
_PUT_OFF = _SQL["put_off"]

_PAGE: Final = 1000
_HOOK_WAIT_S: Final = 60.0
_FIRST: Final = UUID(int=0)
_FIX: Final = "the job cannot be handled and was set aside; correct what wrote it, and enqueue it again"


async def set_damaged_aside(
    connection: Tx, *, queues: Collection[str] = (), holders: Collection[UUID] = (), tasks: Mapping[str, Task]
) -> int:
    """Set aside jobs that make batch statements fail; return how many.

    The ready and due jobs are examined page by page, up to the first page with damaged jobs.

    Args:
        connection: Connection in autocommit mode.
        queues: Queues whose ready and due jobs are examined.
        holders: Jobs; other jobs that wait for their lock keys are examined.
        tasks: Tasks whose failure hooks are called.
    """
    after = _FIRST
    while True:
        request = {"queues": list(queues), "holders": list(holders), "after": after, "limit": _PAGE}
        rows = await (await connection.execute(_LIST_SUSPECTS, request)).fetchall()
        suspects = [job_id for (job_id,) in rows]
        damaged = await _find_damaged(connection, suspects)
        for job_id, why in damaged.items():
            await set_aside(connection, job_id, why, tasks=tasks)
        if damaged or len(suspects) < _PAGE:
            return len(damaged)
        after = suspects[-1]


async def set_aside(
    connection: Tx, job_id: UUID, why: str, *, claim_no: int | None = None, tasks: Mapping[str, Task]
) -> bool:
    """Fail a job that is queued, or held under `claim_no`, with the reason UNREADABLE.

    Its failure hook is called in the same transaction if its args can be read. If the hook fails, the job is delayed by
    a minute. If its row cannot be deleted, it is delayed forever.

    Returns:
        Whether there was such a job.
    """
    message = clean_text(f"{why}: {_FIX}")
    for is_readable in (True, False):
        try:
            return await _try_aside(connection, job_id, message, claim_no, tasks, is_readable=is_readable)
        except HookFailed:
            return await _put_off(connection, job_id, message, claim_no, _HOOK_WAIT_S)
        except Exception as error:
            if is_passing(error):
                raise
    return await _put_off(connection, job_id, message, claim_no, None)


async def _try_aside(
    connection: Tx, job_id: UUID, why: str, claim_no: int | None, tasks: Mapping[str, Task], *, is_readable: bool
) -> bool:
    request = {"job_id": job_id, "claim_no": claim_no, "why": why, "is_readable": is_readable}
    async with connection.transaction():
        rows = await fetch_named(connection, _SET_ASIDE, request)
        for row in rows:
            failed = FailedJob(job_id, row.queue, row.task, row.attempt, "failed", UNREADABLE, why, "")
            await call_hooks(connection, tasks, [(failed, read_json(row.args))])
            if row.lock_keys:
                await promote_next(connection, sorted(set(row.lock_keys)))
    for row in rows:
        SET_ASIDE.inc()
        _log.error("worker.job.set_aside", job_id=str(job_id), queue=row.queue, task=row.task, error=why)
    return bool(rows)


async def _put_off(connection: Tx, job_id: UUID, why: str, claim_no: int | None, for_s: float | None) -> bool:
    request = {"job_id": job_id, "claim_no": claim_no, "for_s": for_s}
    async with connection.transaction():
        rows = await fetch_named(connection, _PUT_OFF, request)
        if keys := [row.lock_key for row in rows if row.lock_key is not None]:
            await promote_next(connection, keys)
    for row in rows:
        _log.error("worker.job.put_off", job_id=str(job_id), queue=row.queue, task=row.task, for_s=for_s, error=why)
    return bool(rows)


async def _find_damaged(connection: Tx, job_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Examine jobs in one statement; if it fails, examine each half separately."""
    if not job_ids:
        return {}
    try:
        rows = await fetch_named(connection, _EXAMINE, {"job_ids": list(job_ids)})
    except Exception as error:
        if is_passing(error):
            raise
        if len(job_ids) == 1:
            return {job_ids[0]: name_fault(error)}
        middle = len(job_ids) // 2
        found = await _find_damaged(connection, job_ids[:middle])
        return found | await _find_damaged(connection, job_ids[middle:])
    return {row.job_id: row.why for row in rows if row.why}

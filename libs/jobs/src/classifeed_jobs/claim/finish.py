"""How claims end: to the archive, or back to their queues (ADR 0014)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.claim.claim import ClaimKey, Ended, Ending, Finished
from classifeed_jobs.claim.literals import array
from classifeed_jobs.model.failure_hooks import call_hooks
from classifeed_jobs.model.job import TERMINAL, Rank
from classifeed_jobs.model.task import FailedJob, Task
from classifeed_jobs.schema.promotion import notify_queues, promote_next

_SQL = load_queries("classifeed_jobs.claim", "finish.sql")
_END, _FINISH = (
    _SQL[name].replace("{ended}", _SQL["ended"]).replace("{archived}", _SQL["archived"])
    for name in ("end_claims", "finish_claims")
)


async def end_claims(
    tx: Tx,
    endings: Sequence[Ending],
    *,
    tasks: Mapping[str, Task] | None = None,
    wake: Callable[[str], None] | None = None,
    promoted: Callable[[Rank], None] | None = None,
) -> list[Ended]:
    """End claims that are still held; the others are left out of the answer, and nothing is written about them.

    Frees their lock keys and lets the next job of each in, and calls the hooks of tasks whose jobs end failed or
    canceled. Must run in a transaction when one of them may hold a lock key, or have a hook.

    Args:
        tasks: those whose hooks are called; None: no task has one.
        wake: called with each queue whose workers should look when this has committed, which is then the caller's to
            tell them; None: they are told by a NOTIFY in the transaction.
        promoted: called with each job that may be claimed again, or now, when this has committed.

    Raises:
        HookFailed: a hook raised; roll back.
    """
    if not endings:
        return []
    parameters = _parameters(endings) | {
        "notify": "on" if wake is None else "off",
        "max_faults": array(str(ending.max_faults) for ending in endings),
    }
    rows = await (await tx.execute(_END, parameters)).fetchall()
    ended = [Ended(*row[:8]) for row in rows]
    if tasks:
        incidents = {ending.key: ending.incident for ending in endings if ending.incident}
        await call_hooks(tx, tasks, [(_failed(row, incidents), row[11]) for row in rows if row[11] is not None])
    has_room = {row[5] for row in rows if row[8]}
    is_back = {one.queue for one in ended if one.outcome not in TERMINAL}
    ranks = [Rank(row[5], *row[9:11]) for row in rows if row[10] is not None]
    if freed := sorted({one.lock_key for one in ended if one.lock_key is not None}):
        # A statement of its own, so that it sees what was parked while the first one waited for the parker.
        ranks += await promote_next(tx, freed)
        is_back.update(rank.queue for rank in ranks)
    if promoted is not None:
        for rank in ranks:
            promoted(rank)
    if wake is not None:
        for queue in has_room | is_back:
            wake(queue)
    elif has_room:  # the triggers have told of the others
        await notify_queues(tx, list(has_room))
    return ended


async def finish_claims(tx: Tx, endings: Sequence[Ending]) -> Finished:
    """End claims that are still held, as `end_claims` does, for less: one statement that frees and requeues nothing.

    Args:
        endings: plain ones only (`Ending.is_plain`).
    """
    row = await (await tx.execute(_FINISH, _parameters(endings) | {"max_faults": "{}"})).fetchone()
    assert row is not None
    job_ids, claim_nos, held, limited = row
    if held == len(endings):
        return Finished([], limited)
    kept = set(zip(job_ids or (), claim_nos or (), strict=True))
    return Finished([ending for ending in endings if (ending.job_id, ending.claim_no) not in kept], limited)


def _parameters(endings: Sequence[Ending]) -> dict[str, Any]:
    return {
        "job_ids": array(ending.job_id.hex for ending in endings),
        "claim_nos": array(str(ending.claim_no) for ending in endings),
        "outcomes": array(ending.outcome for ending in endings),
        "messages": _optional([ending.message for ending in endings]),
        "results": _optional([Jsonb(ending.result) if ending.result is not None else None for ending in endings]),
        "delays_s": array(str(ending.delay_s) for ending in endings),
    }


def _optional(values: list[Any]) -> Any:
    return values if any(value is not None for value in values) else array(["NULL"] * len(values))


def _failed(row: tuple[Any, ...], incidents: Mapping[ClaimKey, str]) -> FailedJob:
    job_id, claim_no, outcome, _, task, queue, attempt, reason = row[:8]
    incident = incidents.get((job_id.int, claim_no), "")
    return FailedJob(job_id, queue, task, attempt, outcome, reason or "", row[12] or "", incident)

"""Completion of claims: their jobs go to the archive or back to their queues (ADR 0014)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_jobs.claim.claim import ClaimKey, CompletedClaim, Completion, PlainCompletions
from classifeed_jobs.claim.literals import array
from classifeed_jobs.model.failure_hooks import call_hooks
from classifeed_jobs.model.job import TERMINAL, Rank
from classifeed_jobs.model.stored import read_json
from classifeed_jobs.model.task import FailedJob, Task
from classifeed_jobs.schema.promotion import notify_queues, promote_next

_SQL = load_queries("classifeed_jobs.claim", "finish.sql")
_END = _SQL["complete_claims"]
_FINISH = _SQL["complete_plain_claims"]


async def complete_claims(
    tx: Tx,
    completions: Sequence[Completion],
    *,
    tasks: Mapping[str, Task] | None = None,
    wake: Callable[[str], None] | None = None,
    promoted: Callable[[Rank], None] | None = None,
) -> list[CompletedClaim]:
    """Complete claims that are still held. Other claims are ignored and missing from the result.

    Their lock keys are released, the next job of each key is promoted, and the failure hooks of failed and canceled
    jobs are called. A transaction is required if a job may hold a lock key or have a hook.

    Args:
        tx: Transaction, or a connection in autocommit mode.
        completions: Requested completions.
        tasks: Tasks whose failure hooks are called; None if no task has one.
        wake: Callback with each queue whose workers must be notified by the caller after the commit; None: they are
            notified in the transaction.
        promoted: Callback with each job that can be claimed after the commit.

    Raises:
        HookFailed: A hook raised; roll back.
    """
    if not completions:
        return []
    parameters = _parameters(completions) | {
        "notify": "on" if wake is None else "off",
        "max_faults": array(str(completion.max_faults) for completion in completions),
    }
    rows = await fetch_named(tx, _END, parameters)
    completed = [
        CompletedClaim(
            row.job_id, row.claim_no, row.outcome, row.lock_key, row.task, row.queue, row.attempt, row.reason
        )
        for row in rows
    ]
    if tasks:
        incidents = {completion.key: completion.incident for completion in completions if completion.incident}
        await call_hooks(
            tx, tasks, [(_failed(row, incidents), read_json(row.args)) for row in rows if row.args is not None]
        )
    has_room = {row.queue for row in rows if row.is_limited}
    requeued = {one.queue for one in completed if one.outcome not in TERMINAL}
    ranks = [Rank(row.queue, row.priority, row.back_to) for row in rows if row.back_to is not None]
    if released := sorted({one.lock_key for one in completed if one.lock_key is not None}):
        # A separate statement, so that it sees jobs that were blocked while the first statement waited.
        ranks += await promote_next(tx, released)
        requeued.update(rank.queue for rank in ranks)
    if promoted is not None:
        for rank in ranks:
            promoted(rank)
    if wake is not None:
        for queue in has_room | requeued:
            wake(queue)
    elif has_room:  # triggers notify the other queues
        await notify_queues(tx, list(has_room))
    return completed


async def complete_plain_claims(tx: Tx, completions: Sequence[Completion]) -> PlainCompletions:
    """Complete claims that are still held, at less cost than `complete_claims`: nothing is released or requeued.

    Args:
        tx: Transaction, or a connection in autocommit mode.
        completions: Plain completions only (`Completion.is_plain`).
    """
    row = await (await tx.execute(_FINISH, _parameters(completions) | {"max_faults": "{}"})).fetchone()
    assert row is not None
    job_ids, claim_nos, held, limited = row
    if held == len(completions):
        return PlainCompletions([], limited)
    kept = set(zip(job_ids or (), claim_nos or (), strict=True))
    return PlainCompletions(
        [completion for completion in completions if (completion.job_id, completion.claim_no) not in kept], limited
    )


def _parameters(completions: Sequence[Completion]) -> dict[str, Any]:
    return {
        "job_ids": array(completion.job_id.hex for completion in completions),
        "claim_nos": array(str(completion.claim_no) for completion in completions),
        "outcomes": array(completion.outcome for completion in completions),
        "messages": _optional([completion.message for completion in completions]),
        "results": _optional(
            [Jsonb(completion.result) if completion.result is not None else None for completion in completions]
        ),
        "progress": _optional([completion.progress for completion in completions]),
        "delays_s": array(str(completion.delay_s) for completion in completions),
    }


def _optional(values: list[Any]) -> Any:
    return values if any(value is not None for value in values) else array(["NULL"] * len(values))


def _failed(row: Any, incidents: Mapping[ClaimKey, str]) -> FailedJob:
    incident = incidents.get((row.job_id.int, row.claim_no), "")
    return FailedJob(
        row.job_id, row.queue, row.task, row.attempt, row.outcome, row.reason or "", row.message or "", incident
    )

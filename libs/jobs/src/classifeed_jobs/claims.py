"""The statements that workers and reapers make about claims; each names the claim it speaks of (ADR 0014)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.failure_hooks import FailedJob, call_hooks
from classifeed_jobs.job import TERMINAL
from classifeed_jobs.literals import array
from classifeed_jobs.signals import ClaimLost, Progress

if TYPE_CHECKING:
    from classifeed_jobs.registry import Task

_SQL = load_queries("classifeed_jobs.sql", "claims.sql")
_END, _FINISH = (
    _SQL[name].replace("{ended}", _SQL["ended"]).replace("{archived}", _SQL["archived"])
    for name in ("end_claims", "finish_claims")
)
_ADMIT_NEXT = _SQL["admit_next"]
_GUARD = _SQL["guard_claim"]
_SAVE_CHECKPOINT = _SQL["save_checkpoint"]
_SAVE_PROGRESS = _SQL["save_progress"]
_NOTIFY = load_queries("classifeed_jobs.sql", "queues.sql")["notify_queues"]

SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
CANCELED: Final = "canceled"
RETRY: Final = "retry"
FAULT: Final = "fault"
KEPT: Final = "kept"
SNOOZED: Final = "snoozed"
RETURNED: Final = "returned"
LOST: Final = "lost"

ClaimKey: TypeAlias = tuple[int, int]
"""A job's id as a number, and the claim_no: unlike a UUID's, its hash costs no call in Python."""


class Claim(NamedTuple):
    """A job as its worker holds it; (job_id, claim_no) is the fence. `runs_alone`: with nothing else in its process."""

    job_id: UUID
    claim_no: int
    queue: str
    task: str
    args: dict[str, Any]
    lock_key: str | None
    partition_key: str | None
    attempt: int
    max_attempts: int | None
    lease_ttl_s: int
    checkpoint: Any
    trace_context: dict[str, str] | None
    waited_s: float
    runs_alone: bool = False

    @property
    def key(self) -> ClaimKey:
        """What names it in this process."""
        return self.job_id.int, self.claim_no

    def ending(self, outcome: str, message: str | None = None, *, result: Any = None, delay_s: float = 0.0) -> Ending:
        """This claim's end."""
        return Ending(self.job_id, self.claim_no, outcome, message, result, delay_s, self.lock_key is not None)


class Ending(NamedTuple):
    """How a claim is to end.

    Attributes:
        outcome: succeeded, failed, canceled; retry, fault and lost (another attempt, if one is left; fault counts
            against the job, lost as a death of its worker); snoozed, returned and kept (back to the queue, the attempt
            is given back; kept even if it was canceled).
        delay_s: not before; for those that go back to the queue.
        needs_transaction: false only for claims of jobs without a lock key and without anybody who must hear of their
            end.
        max_faults: how many faults end the job; for those alone.
        incident: what the log calls the exception that was the last word; for the hook of the task.
    """

    job_id: UUID
    claim_no: int
    outcome: str
    message: str | None = None
    result: Any = None
    delay_s: float = 0.0
    needs_transaction: bool = True
    max_faults: int = 0
    incident: str = ""

    @property
    def key(self) -> ClaimKey:
        """The claim's."""
        return self.job_id.int, self.claim_no

    @property
    def is_plain(self) -> bool:
        """Whether it ends the job for good, frees no key and calls no hook."""
        return not self.needs_transaction and self.outcome in TERMINAL


class Ended(NamedTuple):
    """What became of a claim that was still held; not always what was asked (attempts used up, canceled)."""

    job_id: UUID
    claim_no: int
    outcome: str
    lock_key: str | None
    task: str
    queue: str
    attempt: int
    reason: str | None = None


class Place(NamedTuple):
    """Where a job lies in the claim index."""

    queue: str
    priority: int
    created_at: datetime


class Finished(NamedTuple):
    """What `finish_claims` could not do, and whom to tell.

    Attributes:
        refused: ends of claims that were not held any more.
        limited: queues with limits on what runs at once, which have room now.
    """

    refused: list[Ending]
    limited: list[str]


async def end_claims(
    tx: Tx,
    endings: Sequence[Ending],
    *,
    tasks: Mapping[str, Task] | None = None,
    wake: Callable[[str], None] | None = None,
    came_back: Callable[[Place], None] | None = None,
) -> list[Ended]:
    """End claims that are still held; the others are left out of the answer, and nothing is written about them.

    Frees their lock keys and lets the next job of each in, and calls the hooks of tasks whose jobs end failed or
    canceled. Must run in a transaction when one of them may hold a lock key, or have a hook.

    Args:
        tasks: those whose hooks are called; None: no task has one.
        wake: called with each queue whose workers should look when this has committed, which is then the caller's to
            tell them; None: they are told by a NOTIFY in the transaction.
        came_back: called with each job that may be claimed again, or now, when this has committed.

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
    places = [Place(row[5], *row[9:11]) for row in rows if row[10] is not None]
    if freed := sorted({one.lock_key for one in ended if one.lock_key is not None}):
        # A statement of its own, so that it sees what was parked while the first one waited for the parker.
        places += [Place(*row) for row in await (await tx.execute(_ADMIT_NEXT, {"lock_keys": freed})).fetchall()]
        is_back.update(place.queue for place in places)
    if came_back is not None:
        for place in places:
            came_back(place)
    if wake is not None:
        for queue in has_room | is_back:
            wake(queue)
    elif has_room:  # the triggers have told of the others
        await tx.execute(_NOTIFY, {"queues": sorted(has_room)})
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


async def guard_claim(tx: Tx, job_id: UUID, claim_no: int) -> None:
    """Hold the claim until the transaction ends.

    Raises:
        ClaimLost: it is not held any more.
    """
    cursor = await tx.execute(_GUARD, {"job_id": job_id, "claim_no": claim_no})
    if await cursor.fetchone() is None:
        raise _lost(job_id, claim_no)


async def save_checkpoint(tx: Tx, job_id: UUID, claim_no: int, checkpoint: Any, *, is_progress: bool = True) -> None:
    """Store what the next run resumes from, in the transaction of the effects it stands for; guards the claim too.

    Progress sets the counts of deaths and unknown faults to zero.

    Raises:
        ClaimLost: the claim is not held any more.
    """
    await guard_claim(tx, job_id, claim_no)
    parameters = {"job_id": job_id, "claim_no": claim_no, "checkpoint": Jsonb(checkpoint), "is_progress": is_progress}
    await tx.execute(_SAVE_CHECKPOINT, parameters)


async def save_progress(tx: Tx, reports: Mapping[tuple[UUID, int], Progress]) -> None:
    """Show progress of claims that are still held; the others are passed over."""
    parameters = {
        "job_ids": [job_id for job_id, _ in reports],
        "claim_nos": [claim_no for _, claim_no in reports],
        "progress": [Jsonb(progress.to_json()) for progress in reports.values()],
    }
    await tx.execute(_SAVE_PROGRESS, parameters)


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


def _lost(job_id: UUID, claim_no: int) -> ClaimLost:
    return ClaimLost(f"claim {claim_no} of job {job_id} is not held any more: its lease ran out, or the job was ended")

"""What a worker holds of a job, and how it ends: the values that the statements of claims take and give (ADR 0014)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from classifeed_jobs.model.job import TERMINAL

SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
CANCELED: Final = "canceled"
RETRY: Final = "retry"
FAULT: Final = "fault"
KEPT: Final = "kept"
SNOOZED: Final = "snoozed"
RETURNED: Final = "returned"
LOST: Final = "lost"
UNREADABLE: Final = "unreadable"

ClaimKey: TypeAlias = tuple[int, int]
"""A job's id as a number, and the claim_no: unlike a UUID's, its hash costs no call in Python."""


class Claim(NamedTuple):
    """A job as its worker holds it; (job_id, claim_no) is the fence.

    Attributes:
        runs_alone: with nothing else in its process.
        damage: why it cannot run, whatever its handler does; None: it can.
    """

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
    damage: str | None = None

    @property
    def key(self) -> ClaimKey:
        """What names it in this process."""
        return self.job_id.int, self.claim_no

    def completion(
        self, outcome: str, message: str | None = None, *, result: Any = None, delay_s: float = 0.0
    ) -> Completion:
        """Return this claim's end."""
        return Completion(self.job_id, self.claim_no, outcome, message, result, delay_s, self.lock_key is not None)


class Completion(NamedTuple):
    """How a claim is to end.

    Attributes:
        outcome: succeeded, failed, canceled; unreadable (failed, with the reason UNREADABLE); retry, fault and lost
            (another attempt, if one is left; fault counts against the job, lost as a death of its worker); snoozed,
            returned and kept (back to the queue, the attempt is given back; kept even if it was canceled).
        delay_s: not before; for those that go back to the queue.
        needs_transaction: false only for claims of jobs without a lock key and without anybody who must hear of their
            end.
        max_faults: how many faults end the job; for those alone.
        progress: the last report that no heartbeat has written, as JSON text; None: there is none.
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
    progress: str | None = None

    @property
    def key(self) -> ClaimKey:
        """The claim's."""
        return self.job_id.int, self.claim_no

    @property
    def is_plain(self) -> bool:
        """Whether it ends the job for good, frees no key and calls no hook."""
        return not self.needs_transaction and self.outcome in TERMINAL


class CompletedClaim(NamedTuple):
    """What became of a claim that was still held; not always what was requested (attempts used up, canceled)."""

    job_id: UUID
    claim_no: int
    outcome: str
    lock_key: str | None
    task: str
    queue: str
    attempt: int
    reason: str | None = None


class PlainCompletions(NamedTuple):
    """What `complete_plain_claims` could not do, and whom to notify.

    Attributes:
        refused: ends of claims that were not held any more.
        limited: queues with limits on what runs at once, which have room now.
    """

    refused: list[Completion]
    limited: list[str]

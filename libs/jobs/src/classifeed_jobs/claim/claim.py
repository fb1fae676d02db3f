"""Claims and their completions: parameters and results of the statements of claims (ADR 0014)."""

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
"""The job's id as an integer, and the claim_no. Hashing it is cheaper than hashing a UUID."""


class Claim(NamedTuple):
    """A job that a worker holds; (job_id, claim_no) is the fence.

    Attributes:
        runs_alone: Whether no other job may run in its process at the same time.
        damage: Reason why the job cannot run, independent of its handler; None if it can.
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
        """Key of the claim in this process."""
        return self.job_id.int, self.claim_no

    def completion(
        self, outcome: str, message: str | None = None, *, result: Any = None, delay_s: float = 0.0
    ) -> Completion:
        """Return a completion of this claim."""
        return Completion(self.job_id, self.claim_no, outcome, message, result, delay_s, self.lock_key is not None)


class Completion(NamedTuple):
    """The requested completion of a claim.

    Attributes:
        outcome: One of:
            succeeded, failed, canceled: the job completes;
            unreadable: the job fails with the reason UNREADABLE;
            retry, fault, lost: another attempt, if one is left; fault counts as an unknown fault, lost as a death;
            snoozed, returned, kept: requeued without using up an attempt; kept even if the job was canceled.
        delay_s: Seconds before the next attempt of a requeued job.
        needs_transaction: False only for claims of jobs without a lock key and without a failure hook.
        max_faults: Number of unknown faults that fail the job; used with the outcome fault only.
        progress: Last report that no heartbeat has stored, as JSON text; None if there is none.
        incident: Id of the final exception in the log, for the hook of the task.
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
        """Key of the claim."""
        return self.job_id.int, self.claim_no

    @property
    def is_plain(self) -> bool:
        """Whether it completes the job without releasing a key or calling a hook."""
        return not self.needs_transaction and self.outcome in TERMINAL


class CompletedClaim(NamedTuple):
    """The outcome of a claim that was still held. It may differ from the request (no attempts left, canceled)."""

    job_id: UUID
    claim_no: int
    outcome: str
    lock_key: str | None
    task: str
    queue: str
    attempt: int
    reason: str | None = None


class PlainCompletions(NamedTuple):
    """The result of `complete_plain_claims`.

    Attributes:
        refused: Completions of claims that were no longer held.
        limited: Queues with a limit on running jobs that have capacity now; their workers must be notified.
    """

    refused: list[Completion]
    limited: list[str]

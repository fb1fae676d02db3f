"""JobContext: the interface of a running handler to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar
from uuid import UUID

from classifeed_common.db import Database, Tx
from classifeed_jobs.claim import guard
from classifeed_jobs.claim.claim import Claim
from classifeed_jobs.model.outcomes import Progress, StopRequested

StopReason = Literal["cancel", "drain", "lost", "overdue"]
Result = TypeVar("Result")


class JobContext:
    """One run of a job.

    A job may have several runs. If this process was suspended for longer than its lease, another run may be active
    already. Effects that must not happen twice need a transaction with `guard`, or must be idempotent.

    Attributes:
        job_id: Id of the job.
        claim_no: Fencing number, which increases with each claim of the job.
        attempt: Number of the attempt, from 1.
        queue: Queue of the job.
        task: Task of the job.
        lock_key: Lock key that the run holds.
        trace_context: W3C headers of the trace that the run belongs to.
        checkpoint: Last checkpoint of the job; None if there is none.
        db: The service's database.
        resources: Resources that the service gave the worker.
    """

    def __init__(self, claim: Claim, database: Database, resources: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.job_id: UUID = claim.job_id
        self.claim_no = claim.claim_no
        self.attempt = claim.attempt
        self.queue = claim.queue
        self.task = claim.task
        self.lock_key = claim.lock_key
        self.trace_context = claim.trace_context or {}
        self.checkpoint: Any = claim.checkpoint
        self.db = database
        self.resources = resources
        self.unsaved_progress: Progress | None = None
        self.stop_reason: StopReason | None = None
        self._loop = loop

    async def guard(self, tx: Tx) -> None:
        """Tie a transaction to this claim: it can only commit while no other run of the job has begun.

        The job's row is locked until the transaction ends, so the job cannot be requeued meanwhile. Keep such
        transactions short; several may be open at once. If the process hangs in one, the server closes its session
        after the lease.

        Raises:
            ClaimLost: The claim is no longer held; let the exception roll the transaction back.
        """
        await guard.guard_claim(tx, self.job_id, self.claim_no)

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        """Provide a transaction on `db` that is tied to this claim, as by `guard`.

        Raises:
            ClaimLost: The claim is no longer held; the block is not entered, and nothing is written.
        """
        async with self.db.transaction() as tx:
            await self.guard(tx)
            yield tx

    async def save_checkpoint(self, tx: Tx, checkpoint: Any, *, is_progress: bool = True) -> None:
        """Store the checkpoint from which a later run resumes, and guard the transaction as `guard` does.

        Args:
            tx: Transaction with the effects up to the checkpoint.
            checkpoint: JSON value; the next run has it as `checkpoint`.
            is_progress: Whether the job got further than all earlier runs, which resets its counts of worker deaths and
                unknown faults. Pass False for a job that starts over and only records its position.

        Raises:
            ClaimLost: The claim is no longer held; let the exception roll the transaction back.
        """
        await guard.save_checkpoint(tx, self.job_id, self.claim_no, checkpoint, is_progress=is_progress)
        self.checkpoint = checkpoint

    def report(self, progress: Progress) -> None:
        """Report progress, from any thread. The last report is stored at the next heartbeat or the end of the run."""
        self.unsaved_progress = progress

    @property
    def is_stopping(self) -> bool:
        """Whether this run must end: it was canceled, the worker drains, the claim is lost, or a thread has run for
        longer than `max_run_s`. Callable from any thread."""
        return self.stop_reason is not None

    def raise_if_stopped(self) -> None:
        """Mark a safe point of a coroutine or sync function. Generators have one at each yield.

        Raises:
            StopRequested: The run must end; do not catch it.
        """
        if self.stop_reason is not None:
            raise StopRequested(self.stop_reason)

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the worker's event loop and wait for it; sync functions use it for `db` and `guard`."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

"""JobContext: what a handler has in its hands while it runs."""

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

    A run may be one of several that the job has had, and in the worst case another one is already under way (this
    process stood still past its lease). Effects that must not happen twice go into a transaction with `guard`, or are
    idempotent.

    Attributes:
        job_id: the job.
        claim_no: the fence: grows with each claim of the job.
        attempt: which try this is, from 1.
        queue: where the job came from.
        task: its task.
        lock_key: what it excludes others from, while it runs.
        trace_context: W3C headers of the trace it belongs to.
        checkpoint: what an earlier run saved last; None at first.
        db: the service's database.
        resources: what the service's bootstrap gave the worker.
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
        """Tie a transaction to this claim: when it commits, no other run of the job has begun.

        Holds the job's row until the transaction ends, so nobody can take the job away meanwhile; keep such
        transactions short. Several may be open at once. A process that stands still in one is cut off by the server
        after the lease.

        Raises:
            ClaimLost: the claim is not held any more; let it roll the transaction back.
        """
        await guard.guard_claim(tx, self.job_id, self.claim_no)

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        """Give a transaction on `db` that is tied to this claim, as by `guard`; what it must do is the block.

        Raises:
            ClaimLost: the claim is not held any more; the block was not entered, and nothing is written.
        """
        async with self.db.transaction() as tx:
            await self.guard(tx)
            yield tx

    async def save_checkpoint(self, tx: Tx, checkpoint: Any, *, is_progress: bool = True) -> None:
        """Store where a later run goes on, in the transaction of the effects it stands for; guards like `guard`.

        Args:
            tx: the transaction of the effects.
            checkpoint: JSON; read by the next run as `checkpoint`.
            is_progress: whether the job came further than any run before: deaths of its worker and unknown faults
                count anew then. False for a job that begins again and only notes how far it came.

        Raises:
            ClaimLost: the claim is not held any more; let it roll the transaction back.
        """
        await guard.save_checkpoint(tx, self.job_id, self.claim_no, checkpoint, is_progress=is_progress)
        self.checkpoint = checkpoint

    def report(self, progress: Progress) -> None:
        """Show progress; the last report is written with the next heartbeat or the end of the run. From any thread."""
        self.unsaved_progress = progress

    @property
    def is_stopping(self) -> bool:
        """Whether this run is to end: canceled, the worker drains, the claim is lost, or a thread has run for longer
        than its task may. From any thread."""
        return self.stop_reason is not None

    def raise_if_stopped(self) -> None:
        """Be a safe point for coroutines and sync functions; generators of both kinds have one at each yield.

        Raises:
            StopRequested: the run is to end; let it through.
        """
        if self.stop_reason is not None:
            raise StopRequested(self.stop_reason)

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine (one that uses `db` and `guard`) on the worker's loop and wait for it; for sync functions."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

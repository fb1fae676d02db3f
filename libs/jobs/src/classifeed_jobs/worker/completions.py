"""Completions: writes completions of claims in batches; a batch collects those that arrive during a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import structlog

from classifeed_common.db import Database, Tx, is_passing_fault
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.loops import retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_jobs.claim.claim import FAILED, KEPT, ClaimKey, Completion
from classifeed_jobs.claim.damage import set_aside, set_damaged_aside
from classifeed_jobs.claim.finish import complete_claims, complete_plain_claims
from classifeed_jobs.enqueue.notifier import Notifier
from classifeed_jobs.metrics import ENDS_REFUSED
from classifeed_jobs.model.failure_hooks import HookFailed, hook_tasks
from classifeed_jobs.model.job import Rank
from classifeed_jobs.model.task import Task
from classifeed_jobs.worker.session import Session

_log = structlog.get_logger("classifeed_jobs.worker.completions")
T = TypeVar("T")
_BATCH = 500
_BEHIND = 4 * _BATCH
_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 5.0
_FORGET_FAULT_S = 60.0  # a completion that is refused permanently is not retried
_HOOK_WAIT_S = 60.0


class Completions:
    """A queue of completions and the task that writes them, on a separate connection.

    A write is retried until the database responds. A completion that is refused, because the claim was lost, is logged
    and dropped: another worker may have the job.

    Args:
        database: The service's database.
        notifier: Notifier that wakes workers of requeued and promoted jobs.
        tasks: Tasks whose failure hooks are called.
        caught_up: Callback when `is_behind` becomes false.
        promoted: Callback with each job that can be claimed now.
    """

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        tasks: Mapping[str, Task],
        *,
        caught_up: Callable[[], None],
        promoted: Callable[[Rank], None],
    ) -> None:
        self._session = Session(database)
        self._notifier = notifier
        self._tasks = tasks
        self._has_hooks = bool(hook_tasks(tasks))
        self._caught_up = caught_up
        self._promoted = promoted
        self._pending: list[Completion] = []
        self._unwritten: set[ClaimKey] = set()
        self._changed = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self.fault = LastingFault(forget_after_s=_FORGET_FAULT_S)

    def put(self, completion: Completion) -> None:
        """Enqueue a completion, to be written soon."""
        self._pending.append(completion)
        self._unwritten.add(completion.key)
        self._empty.clear()
        self._changed.set()

    def is_pending(self, key: ClaimKey) -> bool:
        """Return whether the completion of a claim is enqueued and not yet written."""
        return key in self._unwritten

    @property
    def is_behind(self) -> bool:
        """Whether too many completions are unwritten to claim more jobs.

        If the process died now, all these jobs would run again.
        """
        return len(self._unwritten) >= _BEHIND

    async def drained(self) -> None:
        """Wait until all completions are written."""
        await self._empty.wait()

    async def run(self) -> None:
        """Write completions until cancelled."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._pending:
                    batch = self._pending[:_BATCH]
                    del self._pending[: len(batch)]
                    await self._write(batch)
                    was_behind = self.is_behind
                    self._unwritten.difference_update([completion.key for completion in batch])
                    if was_behind and not self.is_behind:
                        self._caught_up()
                self._empty.set()
        finally:
            await self._session.close()

    async def _write(self, batch: list[Completion]) -> None:
        try:
            refused, woken = await self._retried(lambda: self._try(batch), jobs=len(batch))
        except Exception as error:  # noqa: BLE001 - the batch fails its jobs, not this task
            await self._write_apart(batch, error)
            return
        self._notifier.wake(woken)
        _report(refused, is_repeated=self.fault.attempts > 0)
        self.fault.clear()

    async def _retried(self, write: Callable[[], Awaitable[T]], *, jobs: int = 1) -> T:
        """Call `write` until the database responds, and return its result; a permanent error is raised."""

        def note(error: Exception, wait_s: float) -> None:
            if not is_passing_fault(error):
                raise error
            log_fault(_log, "worker.complete.failed", error, retry_in_s=wait_s, noted_in=self.fault, jobs=jobs)

        return await retry(write, Backoff(_FIRST_WAIT_S, _LONGEST_WAIT_S), note)

    async def _try(self, batch: list[Completion]) -> tuple[list[Completion], set[str]]:
        """Write a batch; return the refused completions, and the queues whose workers must be notified."""
        woken: set[str] = set()
        ranks: list[Rank] = []
        told: dict[str, Any] = {"wake": woken.add, "promoted": ranks.append, "tasks": self._tasks}
        async with self._session.use() as connection:
            if all(completion.is_plain for completion in batch):
                refused, limited = await complete_plain_claims(connection, batch)
                return refused, set(limited)
            if self._has_hooks or any(completion.needs_transaction for completion in batch):
                async with connection.transaction():
                    ended = await complete_claims(connection, batch, **told)
            else:  # one statement, so no round trips for BEGIN and COMMIT
                ended = await complete_claims(connection, batch, **told)
        for rank in ranks:
            self._promoted(rank)
        held = {(one.job_id, one.claim_no) for one in ended}
        return [completion for completion in batch if (completion.job_id, completion.claim_no) not in held], woken

    async def _write_apart(self, batch: list[Completion], error: Exception) -> None:
        """Write each completion of a failed batch separately. A completion that fails again fails its job."""
        if len(batch) > 1:
            for completion in batch:
                await self._write([completion])
            return
        spoiled = batch[0]
        if isinstance(error, HookFailed):
            # The job is kept until its hook succeeds, after a release or an operator corrects it.
            message = f"{error}; {spoiled.message or 'canceled'}"
            await self._write([spoiled._replace(outcome=KEPT, message=message, delay_s=_HOOK_WAIT_S)])
            return
        # The damaged job may be another one, which waits for this job's lock key.
        if await self._persist(lambda tx: set_damaged_aside(tx, holders=[spoiled.job_id], tasks=self._tasks)):
            await self._write([spoiled])
            return
        why = f"the outcome {spoiled.outcome!r} could not be written: {type(error).__name__}"
        _log.error("worker.complete.failed", job_id=str(spoiled.job_id), outcome=spoiled.outcome, error=str(error))
        if (spoiled.outcome, spoiled.message) != (FAILED, why):
            await self._write([Completion(spoiled.job_id, spoiled.claim_no, FAILED, why)])
            return
        await self._persist(lambda tx: set_aside(tx, spoiled.job_id, why, claim_no=spoiled.claim_no, tasks=self._tasks))

    async def _persist(self, write: Callable[[Tx], Awaitable[int]]) -> int:
        """Call `write` until the database responds, and return its result; 0 after a permanent error."""

        async def attempt() -> int:
            async with self._session.use() as connection:
                return await write(connection)

        try:
            done = await self._retried(attempt)
        except Exception as error:  # noqa: BLE001 - nothing more can be done for this job
            log_fault(_log, "worker.complete.failed", error)
            return 0
        self.fault.clear()
        return done


def _report(refused: list[Completion], *, is_repeated: bool) -> None:
    for completion in refused:
        ENDS_REFUSED.inc()
        _log.warning(
            "worker.complete.failed",
            job_id=str(completion.job_id),
            claim_no=completion.claim_no,
            outcome=completion.outcome,
            # If a commit lost its connection, the first attempt may have written it.
            error="the claim is no longer held"
            + (" (or the job was completed by the previous attempt)" if is_repeated else ""),
        )

"""Reaper: requeues the jobs of processes whose lease expired, and maintains the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.faults.passing import is_passing
from classifeed_common.loops import Loop
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_jobs.claim.claim import LOST, CompletedClaim, Completion
from classifeed_jobs.claim.damage import set_aside, set_damaged_aside
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.maintenance.retention import Retention
from classifeed_jobs.metrics import REAPED
from classifeed_jobs.model.failure_hooks import HookFailed, hook_tasks
from classifeed_jobs.model.retry import FAULT_PAUSE_S
from classifeed_jobs.model.task import Task
from classifeed_jobs.server_time import server_time

_log = structlog.get_logger("classifeed_jobs.maintenance.reaper")
_SQL = load_queries("classifeed_jobs.maintenance", "reaper.sql")
_LOCK_LOST = _SQL["lock_lost"]
_NEXT_EXPIRY = _SQL["next_expiry"]
_COUNT_LOST = _SQL["count_lost"]

_BATCH = 500
_SHORTEST_WAIT_S = 0.2
_BLIND_WAIT_S = 0.5
# Tolerated delay of a poll, beyond the period.
_LATE_S = 5.0
_VAIN_POLLS = 3
_RETENTION = Retention()
_MESSAGE = "its worker did not renew the lease"


class Reaper:
    """Requeues running jobs whose lease has expired.

    A job fails instead if no attempt is left or its worker died too often; it is canceled if that was requested. Any
    number of replicas may run; each job is requeued by one of them. The reaper also runs `Housekeeping`.

    An expired lease counts as a death only if the process could have renewed it. After a standstill of the database or
    of this machine, other processes get `grace_s` to renew their leases before their jobs are requeued.

    Args:
        database: The service's database.
        tasks: Tasks of the service's workers, whose failure hooks are called. If a job would complete and its worker
            knew a hook that is unknown here, the job is left to other reapers for an hour.
        reaper_period_s: Maximum seconds between two polls (DL_REAPER_PERIOD_SEC). A poll is earlier if a lease expires.
        grace_s: Seconds without requeuing after a standstill.
        forget_workers_s: Seconds without a heartbeat after which the row of a process without jobs is removed.
        retention: Retention of complete jobs and of the journal; None keeps them forever.
    """

    def __init__(
        self,
        database: Database,
        tasks: Mapping[str, Task] | None = None,
        *,
        reaper_period_s: float = 10.0,
        grace_s: float = 5.0,
        forget_workers_s: float = 3600.0,
        retention: Retention | None = _RETENTION,
    ) -> None:
        self._db = database
        self._tasks = tasks if tasks is not None else {}
        self._hook_tasks = hook_tasks(self._tasks)
        self._reaper_period_s = reaper_period_s
        self._grace = timedelta(seconds=grace_s)
        self._polled_at: datetime | None = None
        self._was_blind = False
        self._loop = Loop(
            self._poll,
            period_s=reaper_period_s,
            name="lost jobs",
            doing="requeueing lost jobs",
            effect="Jobs of processes that died do not run",
            backoff=Backoff(min(FAULT_PAUSE_S, reaper_period_s)),
            on_fault=self._note_fault,
            event="reaper.failed",
        )
        self._holds_until: datetime | None = None
        self._vain_looks = 0
        self._reaping = DutyCycle()
        self._foreseeing = DutyCycle()
        self._housekeeping = Housekeeping(database, retention=retention, forget_workers_s=forget_workers_s)

    async def run(self, stop: asyncio.Event) -> None:
        """Requeue lost jobs until `stop` is set. Errors are retried."""
        housekeeping = asyncio.create_task(self._housekeeping.run(), name="jobs-housekeeping")
        try:
            await self._loop.run(stop)
        finally:
            housekeeping.cancel()
            await asyncio.wait([housekeeping])

    async def _poll(self) -> float:
        if (held_s := await self._held_s()) > 0:
            return min(self._reaper_period_s, held_s)
        while len(await self.reap()) >= _BATCH:
            continue
        return await self._wait_s()

    def _note_fault(self, _error: Exception) -> None:
        self._was_blind = True

    def blocked(self) -> dict[str, str]:
        """Return why lost jobs are not requeued and which chores fail, if that has lasted for some time."""
        return {**self._loop.blocked(), **self._housekeeping.blocked()}

    async def reap(self) -> list[CompletedClaim]:
        """Requeue jobs that are lost now, about 500 at most; return their outcomes."""
        try:
            ended = await self._reap_together()
        except Exception as error:
            if is_passing(error):
                raise
            ended = await self._reap_apart()
        if self._hook_tasks:
            ended += await self._reap_with_hooks()
        for one in ended:
            REAPED.labels(one.outcome).inc()
            _log.warning(
                "reaper.requeued",
                job_id=str(one.job_id),
                queue=one.queue,
                task=one.task,
                attempt=one.attempt,
                outcome=one.outcome,
                reason=one.reason,
            )
        return ended

    async def _reap_together(self) -> list[CompletedClaim]:
        async with self._db.transaction() as tx:
            with self._reaping.timed():
                rows = await self._lock_lost(tx, {"limit": _BATCH, "is_hooked": False, "without": []})
            return await complete_claims(tx, _lost(rows))

    async def _reap_apart(self) -> list[CompletedClaim]:
        """Requeue lost jobs one by one, 500 at most; a job that cannot be requeued is set aside."""
        ended: list[CompletedClaim] = []
        without: list[UUID] = []
        while len(without) < _BATCH:
            rows: list[tuple[UUID, int]] = []
            try:
                async with self._db.transaction() as tx:
                    rows = await self._lock_lost(tx, {"limit": 1, "is_hooked": False, "without": without})
                    ended += await complete_claims(tx, _lost(rows))
            except Exception as error:
                if is_passing(error) or not rows:
                    raise
                await self._set_aside(*rows[0], error)
            if not rows:
                break
            without.append(rows[0][0])
        return ended

    async def _set_aside(self, job_id: UUID, claim_no: int, error: Exception) -> None:
        async with self._db.connection() as connection:
            # The damaged job may be another one, which waits for this job's lock key.
            if not await set_damaged_aside(connection, holders=[job_id], tasks=self._tasks):
                why = f"it could not go back to its queue: {type(error).__name__}"
                await set_aside(connection, job_id, why, claim_no=claim_no, tasks=self._tasks)

    async def _reap_with_hooks(self) -> list[CompletedClaim]:
        """Complete lost jobs with failure hooks, each in its own transaction: a failing hook affects no other job."""
        ended: list[CompletedClaim] = []
        without: list[UUID] = []
        while True:
            rows: list[tuple[UUID, int]] = []
            try:
                async with self._db.transaction() as tx:
                    rows = await self._lock_lost(tx, {"limit": 1, "is_hooked": True, "without": without})
                    if not rows:
                        return ended
                    reaped = await complete_claims(tx, _lost(rows), tasks=self._tasks)
            except HookFailed as failed:
                without.append(failed.job.job_id)
            except Exception as error:
                if is_passing(error) or not rows:
                    raise
                await self._set_aside(*rows[0], error)
                without.append(rows[0][0])
            else:
                ended += reaped

    async def _lock_lost(self, tx: Tx, parameters: dict[str, object]) -> list[tuple[UUID, int]]:
        cursor = await tx.execute(_LOCK_LOST, {"tasks": self._hook_tasks, **parameters})
        return [(job_id, claim_no) for job_id, claim_no in await cursor.fetchall()]

    async def _held_s(self) -> float:
        """Return for how many seconds no job may be requeued, because processes could not renew their leases."""
        async with self._db.transaction() as tx:
            now = await server_time(tx)
        late = timedelta(seconds=self._reaper_period_s + _LATE_S)
        if self._was_blind or (self._polled_at is not None and now - self._polled_at > late):
            _log.warning("reaper.held", since=str(self._polled_at), grace_s=self._grace.total_seconds())
            self._holds_until = now + self._grace
        self._polled_at, self._was_blind = now, False
        return max(0.0, (self._holds_until - now).total_seconds()) if self._holds_until is not None else 0.0

    async def backlog(self) -> dict[str, int]:
        """Return the number of lost jobs that wait to be requeued."""
        async with self._db.transaction() as tx:
            row = await (await tx.execute(_COUNT_LOST)).fetchone()
        return {"lost_jobs": row[0] if row is not None else 0}

    async def _wait_s(self) -> float:
        wait_s = await self._next_expiry_s() if self._foreseeing.is_due else _BLIND_WAIT_S
        # A poll of a silent process scans the dead entries of its completed jobs, so it may take long.
        return min(self._reaper_period_s, max(wait_s, self._reaping.due_in_s))

    async def _next_expiry_s(self) -> float:
        async with self._db.connection() as connection:
            with self._foreseeing.timed():
                row = await (await connection.execute(_NEXT_EXPIRY)).fetchone()
        if row is None or row[0] is None:
            return self._reaper_period_s
        in_s = float(row[0])
        self._vain_looks = self._vain_looks + 1 if in_s < 0 else 0
        # Back off for lost jobs whose row is locked by a transaction of the run, or whose hook is unknown here.
        return max(_SHORTEST_WAIT_S * 2.0 ** min(self._vain_looks, _VAIN_POLLS), in_s)


def _lost(rows: Iterable[tuple[UUID, int]]) -> list[Completion]:
    return [Completion(job_id, claim_no, LOST, _MESSAGE) for job_id, claim_no in rows]

"""Reaper: gives back the jobs of processes that have fallen silent, and keeps the tables in order."""

from __future__ import annotations

import asyncio

import structlog

from classifeed_common.db import Database, is_passing_fault, load_queries
from classifeed_jobs.claims import LOST, Ended, Ending, end_claims
from classifeed_jobs.housekeeping import Housekeeping
from classifeed_jobs.metrics import REAPED
from classifeed_jobs.pacing import Pace
from classifeed_jobs.retention import Retention

_log = structlog.get_logger("classifeed_jobs.reaper")
_SQL = load_queries("classifeed_jobs.sql", "claims.sql")
_LOCK_LOST = _SQL["lock_lost"]
_NEXT_EXPIRY = _SQL["next_expiry"]
_COUNT_LOST = load_queries("classifeed_jobs.sql", "jobs.sql")["count_lost"]

_BATCH = 500
_SHORTEST_WAIT_S = 0.2
_BLIND_WAIT_S = 0.5
_RETENTION = Retention()
_MESSAGE = "its worker did not renew the lease"


class Reaper:
    """Returns running jobs whose lease has run out to their queues; failed when no attempt is left, canceled when that
    was asked. Any number of replicas may run at once, each job is given back by one of them. Beside that it vacuums,
    forgets expired keys, makes and drops partitions, and shows depths as metrics (`Housekeeping`).

    Args:
        db: the service's database.
        reaper_period_s: the longest time between two looks (DL_REAPER_PERIOD_SEC); the earliest expiry comes before it.
        forget_workers_s: rows of processes that have been silent for so long and hold nothing are removed.
        retention: how long done jobs and the journal are kept; None: for ever.
    """

    def __init__(
        self,
        db: Database,
        *,
        reaper_period_s: float = 10.0,
        forget_workers_s: float = 3600.0,
        retention: Retention | None = _RETENTION,
    ) -> None:
        self._db = db
        self._reaper_period_s = reaper_period_s
        self._reaping = Pace()
        self._foreseeing = Pace()
        self._housekeeping = Housekeeping(db, retention=retention, forget_workers_s=forget_workers_s)

    async def run(self, stop: asyncio.Event) -> None:
        """Reap until `stop` is set. Faults of the database are retried at the period."""
        housekeeping = asyncio.create_task(self._housekeeping.run(), name="jobs-housekeeping")
        try:
            await self._reap_until(stop)
        finally:
            housekeeping.cancel()
            await asyncio.wait([housekeeping])

    async def _reap_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            wait_s = self._reaper_period_s
            try:
                while len(await self.reap()) == _BATCH:
                    continue
                wait_s = await self._wait_s()
            except Exception as error:  # noqa: BLE001 - a fault of any kind is waited out
                log = _log.warning if is_passing_fault(error) else _log.exception
                log("reaper.failed", error=f"{type(error).__name__}: {error}")
                wait_s = min(wait_s, 1.0)
            try:
                async with asyncio.timeout(wait_s):
                    await stop.wait()
            except TimeoutError:
                continue

    async def reap(self) -> list[Ended]:
        """Give back what is lost now, at most 500 jobs; returns what became of them."""
        async with self._db.transaction() as tx:
            with self._reaping.timed():
                rows = await (await tx.execute(_LOCK_LOST, {"limit": _BATCH})).fetchall()
            ended = await end_claims(tx, [Ending(job_id, claim_no, LOST, _MESSAGE) for job_id, claim_no in rows])
        for one in ended:
            REAPED.labels(one.outcome).inc()
            _log.warning(
                "reaper.requeued",
                job_id=str(one.job_id),
                queue=one.queue,
                task=one.task,
                attempt=one.attempt,
                outcome=one.outcome,
            )
        return ended

    async def backlog(self) -> dict[str, int]:
        """Lost jobs that wait to be given back."""
        async with self._db.transaction() as tx:
            row = await (await tx.execute(_COUNT_LOST)).fetchone()
        return {"lost_jobs": row[0] if row is not None else 0}

    async def _wait_s(self) -> float:
        wait_s = await self._next_expiry_s() if self._foreseeing.is_due else _BLIND_WAIT_S
        # Looks at a silent process walk over all that it has ended; those at the others are short.
        return min(self._reaper_period_s, max(wait_s, self._reaping.due_in_s))

    async def _next_expiry_s(self) -> float:
        async with self._db.connection() as connection:
            with self._foreseeing.timed():
                row = await (await connection.execute(_NEXT_EXPIRY)).fetchone()
        if row is None or row[0] is None:
            return self._reaper_period_s
        # A lost job whose row is held by an effect is looked at again soon, not at once.
        return max(_SHORTEST_WAIT_S, float(row[0]))

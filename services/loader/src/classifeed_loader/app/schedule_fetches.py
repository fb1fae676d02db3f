"""Schedules fetches: queues those of due sources, in one process at a time by a lease."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.lease import Lease, LeasedLoop, Leases
from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_jobs import JobStore
from classifeed_loader.app.queue_fetches import SCHEDULED_PRIORITY, queue_fetches
from classifeed_loader.store import queueing

LEASE: Final = "schedule"
_BATCH: Final = 200
_SHORTEST_PAUSE_S: Final = 0.05
# Sources that another process has stored are found after this time at the latest.
_LONGEST_PAUSE_S: Final = 2.0
_FAULT_PAUSE_S: Final = 1.0

_log = structlog.get_logger(__name__)


async def schedule_due(
    database: Database, leases: Leases, jobs: JobStore, lease: Lease, *, min_interval_s: float, limit: int = _BATCH
) -> int:
    """Queue the fetches of at most `limit` due sources, oldest first, and return their number.

    Each source is updated with its fetch, its job and its next slot in one transaction, guarded by the lease. Even if
    two processes did this at a time, each slot would be fetched once: they never lock the same source.

    Raises:
        LeaseLost: another process has the lease now.
    """
    async with database.transaction() as tx:
        await leases.guard(tx, lease)
        keys = await queueing.queue_due(tx, limit=limit, min_interval_s=min_interval_s)
        await queue_fetches(tx, jobs, keys, priority=SCHEDULED_PRIORITY)
    return len(keys)


class FetchScheduler(Looping):
    """Schedules fetches while this process has the lease; sleeps until the next source is due, or until it is woken.

    Args:
        database: database with sources and jobs.
        jobs: job store for the fetches.
        leases: leases in the same database.
        min_interval_s: shortest time between two scheduled fetches of a source, in seconds.
        clock: clock that measures how long a fault lasts; None: the machine's.
    """

    loop: LeasedLoop

    def __init__(
        self,
        database: Database,
        jobs: JobStore,
        leases: Leases,
        *,
        min_interval_s: float,
        clock: Clock | None = None,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._leases = leases
        self._min_interval_s = min_interval_s
        self._woken = asyncio.Event()
        loop = Loop(
            self._schedule,
            period_s=_LONGEST_PAUSE_S,
            name="fetches",
            doing="scheduling",
            effect="Feeds that are due wait",
            backoff=Backoff(_FAULT_PAUSE_S),
            wake=self._woken,
            event="fetches.schedule.failed",
            clock=clock,
        )
        self.loop = LeasedLoop(leases, LEASE, loop)

    def wake(self) -> None:
        """Check for due sources now. Call it after a commit that may have made a source due; it is cheap."""
        self._woken.set()

    async def backlog(self) -> dict[str, int]:
        """Return the number of due sources."""
        async with self._database.transaction() as tx:
            return {"sources_due": await queueing.count_due(tx)}

    async def _schedule(self) -> float:
        queued = await schedule_due(
            self._database, self._leases, self._jobs, self.loop.lease, min_interval_s=self._min_interval_s
        )
        pause_s = await self._pause_s()
        if queued:
            _log.info("fetches.queued", fetches=queued)
        return pause_s

    async def _pause_s(self) -> float:
        async with self._database.transaction() as tx:
            due_s = await queueing.next_due_s(tx)
        if due_s is None:
            return _LONGEST_PAUSE_S
        return min(max(due_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)

"""Housekeeping: chores that keep the job tables small and export their metrics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from classifeed_common.db import Database, load_queries
from classifeed_common.loops import Loop
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_jobs.maintenance.retention import Archive, Retention
from classifeed_jobs.metrics import BY_STATUS, JOBS, OLDEST, SCHEDULE_AGE, WORKERS

_log = structlog.get_logger("classifeed_jobs.maintenance.housekeeping")
_SQL = load_queries("classifeed_jobs.maintenance", "housekeeping.sql")
_DEAD_ROWS = _SQL["dead_rows"]
_FORGET_WORKERS = _SQL["forget_workers"]
_FORGET_KEYS = _SQL["forget_keys"]
_DEPTHS = _SQL["depths"]
_COMPLETED_LATELY = _SQL["completed_lately"]
_COUNT_WORKERS = _SQL["count_workers"]
_SCHEDULE_AGES = _SQL["schedule_ages"]

_HOT_TABLES: Final = ("dl_jobs", "dl_job_locks", "dl_job_keys", "dl_workers", "dl_queues")
_DEAD_LIMIT: Final = 2000
_FORGET_LIMIT: Final = 10_000
_VACUUM_PERIOD_S: Final = 10.0
_VACUUM_LONGEST_S: Final = 320.0
_FORGET_PERIOD_S: Final = 60.0
_FIGURES_PERIOD_S: Final = 30.0
_ARCHIVE_PERIOD_S: Final = 3600.0
_FAULT_WAIT_S: Final = 5.0


@dataclass(slots=True)
class _Vacuumed:
    wait_s: float = _VACUUM_PERIOD_S
    next_s: float = field(default=0.0)


class Housekeeping:
    """Deletes rows of dead processes and expired keys, maintains partitions, vacuums, and exports queue depths.

    Any number of processes may run it concurrently: chores exclude each other or are idempotent.

    Args:
        database: The service's database. Its role should own the tables, for VACUUM and partitions.
        retention: Retention of complete jobs and of the journal; None keeps them forever.
        forget_workers_s: Seconds without a heartbeat after which the row of a process without jobs is removed.
    """

    def __init__(self, database: Database, *, retention: Retention | None, forget_workers_s: float) -> None:
        self._db = database
        self._forget_workers_s = forget_workers_s
        self._vacuumed = {table: _Vacuumed() for table in _HOT_TABLES}
        self._one_at_a_time = asyncio.Lock()
        self._chores = [
            self._chore("vacuum", self.vacuum, _VACUUM_PERIOD_S),
            # These also scan dead rows, which may be very many while VACUUM cannot remove them.
            self._chore("forget", self.forget, _FORGET_PERIOD_S, DutyCycle()),
            self._chore("figures", self.show_figures, _FIGURES_PERIOD_S, DutyCycle()),
        ]
        if retention is not None:
            self._chores.append(self._chore("archive", Archive(database, retention).tend, _ARCHIVE_PERIOD_S))

    async def run(self) -> None:
        """Run the chores until cancelled, one at a time. A failed chore is logged and retried a little later."""
        await asyncio.gather(*(chore.run(asyncio.Event()) for chore in self._chores))

    def blocked(self) -> dict[str, str]:
        """Return why chores fail, if they have failed for some time."""
        return {item: why for chore in self._chores for item, why in chore.blocked().items()}

    def _chore(
        self, name: str, do: Callable[[], Awaitable[None]], period_s: float, duty_cycle: DutyCycle | None = None
    ) -> Loop:
        cycle = duty_cycle or DutyCycle(longest_s=0.0)  # never delays

        async def work() -> float:
            async with self._one_at_a_time:
                with cycle.timed():
                    await do()
            return max(period_s, cycle.due_in_s)

        return Loop(
            work,
            period_s=period_s,
            name=f"chore {name}",
            doing=f"the chore {name} of the job tables",
            effect="The tables grow, and claims slow down",
            backoff=Backoff(_FAULT_WAIT_S),
            event="reaper.chore.failed",
        )

    async def vacuum(self) -> None:
        """Vacuum hot tables with many dead rows.

        If a long-running transaction holds back the xmin horizon, VACUUM is useless, and its interval for the table
        doubles each time up to a limit.
        """
        async with self._db.connection() as connection:
            cursor = await connection.execute(_DEAD_ROWS, {"tables": list(_HOT_TABLES)})
            for table, dead in await cursor.fetchall():
                state = self._vacuumed[table]
                if dead < _DEAD_LIMIT or time.monotonic() < state.next_s:
                    continue
                await connection.execute(f"VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON, TRUNCATE OFF) {table}")
                left = dict(await (await connection.execute(_DEAD_ROWS, {"tables": [table]})).fetchall()).get(table, 0)
                is_useful = left < dead / 2
                state.wait_s = _VACUUM_PERIOD_S if is_useful else min(_VACUUM_LONGEST_S, state.wait_s * 2)
                state.next_s = time.monotonic() + (0.0 if is_useful else state.wait_s)
                if not is_useful:
                    _log.warning("reaper.vacuum.useless", table=table, dead_rows=left, again_in_s=state.wait_s)

    async def forget(self) -> None:
        """Remove the rows of dead processes, and expired idempotency keys."""
        async with self._db.connection() as connection:
            await connection.execute(_FORGET_WORKERS, {"after_s": self._forget_workers_s})
            while (await connection.execute(_FORGET_KEYS, {"limit": _FORGET_LIMIT})).rowcount == _FORGET_LIMIT:
                continue

    async def show_figures(self) -> None:
        """Update the gauges. All processes export the same values."""
        async with self._db.connection() as connection:
            depths = await (await connection.execute(_DEPTHS)).fetchall()
            completed = await (await connection.execute(_COMPLETED_LATELY)).fetchall()
            workers = await (await connection.execute(_COUNT_WORKERS)).fetchone()
            ages = await (await connection.execute(_SCHEDULE_AGES)).fetchall()
        counts: Counter[tuple[str, str]] = Counter()
        for queue, state, jobs, _ in depths:
            counts[queue, "running" if state == "running" else "queued"] += jobs
        counts.update({(queue, status): jobs for queue, status, jobs in completed})
        BY_STATUS.clear()
        for (queue, status), jobs in counts.items():
            BY_STATUS.labels(queue, status).set(jobs)
        JOBS.clear()
        OLDEST.clear()
        SCHEDULE_AGE.clear()
        for queue, state, jobs, oldest_s in depths:
            JOBS.labels(queue, state).set(jobs)
            if state == "ready":
                OLDEST.labels(queue).set(oldest_s)
        for schedule, age_s in ages:
            SCHEDULE_AGE.labels(schedule).set(age_s)
        WORKERS.set(workers[0] if workers is not None else 0)

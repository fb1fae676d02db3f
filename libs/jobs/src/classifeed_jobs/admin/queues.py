"""Queues: pause, limits and figures of queues, in the caller's own transaction (ADR 0020)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_jobs.enqueue.checking import check_queue
from classifeed_jobs.model.storable import INT32, clean_text
from classifeed_jobs.schema.promotion import notify_queues

_SQL = load_queries("classifeed_jobs.admin", "queues.sql")
_PAUSE = _SQL["pause_queue"]
_RESUME = _SQL["resume_queue"]
_LIMIT = _SQL["limit_queue"]
_FORGET_FREE = _SQL["forget_free_queues"]
_STATS = _SQL["queue_stats"]


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How much of a queue may run, over all processes; None: no limit.

    Attributes:
        max_running: jobs at once.
        max_running_per_partition: jobs at once of one partition_key; those without a key are not bound by it.
        rate_per_s: starts a second, in the database's time.
        rate_burst: starts that may come at once after a quiet time; None: what comes in a second, at least one.
    """

    max_running: int | None = None
    max_running_per_partition: int | None = None
    rate_per_s: float | None = None
    rate_burst: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_running", "max_running_per_partition", "rate_per_s", "rate_burst"):
            value = getattr(self, name)
            if value is not None and not 0 < value < INT32:
                raise ValueError(f"{name} must be above 0 and below {INT32}, not {value}: pause a queue to stop it")
        if self.rate_burst is not None and self.rate_per_s is None:
            raise ValueError("rate_burst has no effect without rate_per_s")


@dataclass(frozen=True, slots=True)
class QueueStats:
    """A queue as it stands.

    Attributes:
        ready: due jobs that wait for a worker.
        delayed: jobs whose time has not come.
        parked: due jobs that wait for their lock key.
        running: jobs under way, in all processes.
        oldest_s: how long the oldest due job has been waiting, in seconds; None: there is none.
        succeeded_per_s: ends of each kind a second, over the window that was requested.
        failed_last_hour: jobs that failed in the last hour, whatever the window.
        workers: processes that work it and have renewed their lease within a minute.
        paused_at: since when it stands still; None: it does not.
    """

    queue: str
    ready: int
    delayed: int
    parked: int
    running: int
    oldest_s: float | None
    succeeded_per_s: float
    failed_per_s: float
    canceled_per_s: float
    failed_last_hour: int
    workers: int
    paused_at: datetime | None
    paused_by: str | None
    limits: QueueLimits


class Queues:
    """Controls and figures of the queues of one schema. Any name is a queue, with or without jobs."""

    async def pause(self, tx: Tx, queue: str, *, by: str | None = None) -> None:
        """Start no more jobs of a queue in any process; what runs goes on, what is claimed at this moment still starts.

        Idempotent: the first pause stays.

        Raises:
            NotStorable: `queue` is no name of a queue.
        """
        check_queue(queue)
        await tx.execute(_PAUSE, {"queue": queue, "by": clean_text(by) if by is not None else None})

    async def resume(self, tx: Tx, queue: str) -> None:
        """Let a paused queue continue at once. Idempotent.

        Raises:
            NotStorable: `queue` is no name of a queue.
        """
        check_queue(queue)
        await tx.execute(_RESUME, {"queue": queue})
        await self._settle(tx, queue)

    async def set_limits(self, tx: Tx, queue: str, limits: QueueLimits) -> None:
        """Replace the limits of a queue, for all processes at their next claim. Idempotent.

        Jobs that run already count and are not stopped. `QueueLimits()` lifts all of them.

        Raises:
            NotStorable: `queue` is no name of a queue.
        """
        check_queue(queue)
        burst = limits.rate_burst
        if burst is None and limits.rate_per_s is not None:
            burst = max(1, int(limits.rate_per_s))
        parameters = {
            "queue": queue,
            "max_running": limits.max_running,
            "max_running_per_partition": limits.max_running_per_partition,
            "rate_per_s": limits.rate_per_s,
            "rate_burst": burst,
        }
        await tx.execute(_LIMIT, parameters)
        await self._settle(tx, queue)

    async def stats(self, tx: Tx, *, queue: str | None = None, window_s: float = 60.0) -> list[QueueStats]:
        """Return the figures of all queues that have live jobs, recent ends, settings or workers; or of one, whatever
        it has.

        Reads every live job, every end within the window and every failure of the hour: ask a few times a minute, not a
        second.
        """
        rows = await fetch_named(tx, _STATS, {"queue": queue, "window_s": window_s})
        return [_stats_of(row._asdict()) for row in rows]

    async def _settle(self, tx: Tx, queue: str) -> None:
        await tx.execute(_FORGET_FREE, {"queue": queue})
        await notify_queues(tx, [queue])


def _stats_of(row: dict[str, Any]) -> QueueStats:
    limits = {each.name: row.pop(each.name) for each in fields(QueueLimits)}
    return QueueStats(**row, limits=QueueLimits(**limits))

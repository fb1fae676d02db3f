"""Queues: pause, limits and statistics of queues, in the caller's transaction (ADR 0020)."""

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
    """Limits of a queue over all processes; None means no limit.

    Attributes:
        max_running: Maximum number of running jobs.
        max_running_per_partition: Maximum number of running jobs per partition_key; jobs without a key are not limited.
        rate_per_s: Maximum starts per second, by the database's clock.
        rate_burst: Maximum starts at once after an idle time; None for the starts of one second, at least one.
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
    """Statistics and settings of a queue.

    Attributes:
        ready: Number of due jobs that wait for a worker.
        delayed: Number of jobs that are not due yet.
        parked: Number of due jobs that wait for their lock key.
        running: Number of running jobs, in all processes.
        oldest_s: Seconds that the oldest due job has been waiting; None if no job is due.
        succeeded_per_s: Completions per second within the requested window; likewise for failed and canceled jobs.
        failed_last_hour: Number of jobs that failed in the last hour, independent of the window.
        workers: Number of processes that run jobs of the queue and have renewed their lease within a minute.
        paused_at: Time at which the queue was paused; None if it is not paused.
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
    """Controls and statistics of the queues of one schema. Any name is a queue, with or without jobs."""

    async def pause(self, tx: Tx, queue: str, *, by: str | None = None) -> None:
        """Pause a queue in all processes. Running jobs continue, and jobs that are being claimed still start.

        Idempotent: the first pause is kept.

        Raises:
            NotStorable: `queue` is not a valid name of a queue.
        """
        check_queue(queue)
        await tx.execute(_PAUSE, {"queue": queue, "by": clean_text(by) if by is not None else None})

    async def resume(self, tx: Tx, queue: str) -> None:
        """Resume a paused queue immediately. Idempotent.

        Raises:
            NotStorable: `queue` is not a valid name of a queue.
        """
        check_queue(queue)
        await tx.execute(_RESUME, {"queue": queue})
        await self._settle(tx, queue)

    async def set_limits(self, tx: Tx, queue: str, limits: QueueLimits) -> None:
        """Replace the limits of a queue. All processes apply them at their next claim. Idempotent.

        Running jobs count towards the limits and are not stopped. `QueueLimits()` removes all limits.

        Raises:
            NotStorable: `queue` is not a valid name of a queue.
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
        """Return the statistics of all queues that have live jobs, recent completions, settings or workers.

        With `queue`, return only the statistics of that queue, which may be empty.

        Each call reads every live job, every completion within the window and every failure of the last hour. Call it a
        few times a minute, not a few times a second.
        """
        rows = await fetch_named(tx, _STATS, {"queue": queue, "window_s": window_s})
        return [_stats_of(row._asdict()) for row in rows]

    async def _settle(self, tx: Tx, queue: str) -> None:
        await tx.execute(_FORGET_FREE, {"queue": queue})
        await notify_queues(tx, [queue])


def _stats_of(row: dict[str, Any]) -> QueueStats:
    limits = {each.name: row.pop(each.name) for each in fields(QueueLimits)}
    return QueueStats(**row, limits=QueueLimits(**limits))

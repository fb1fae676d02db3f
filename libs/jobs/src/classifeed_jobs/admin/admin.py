"""JobAdmin: operations of operators and public APIs on jobs, each in its own transaction, with an audit trail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog

from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition, NotFound, ResourceExhausted, name_fault
from classifeed_common.faults.passing import is_passing
from classifeed_jobs.admin.queues import QueueLimits, Queues, QueueStats
from classifeed_jobs.enqueue.store import JobStore
from classifeed_jobs.model.job import (
    EnqueuedJob,
    HeldLock,
    Job,
    JobEvent,
    JobFilter,
    JobRequest,
    WorkerProcess,
)
from classifeed_jobs.model.storable import NotStorable
from classifeed_jobs.model.stored import UNREADABLE
from classifeed_jobs.schedule.schedules import Schedule, Schedules, ScheduleState
from classifeed_jobs.server_time import server_time

_log = structlog.get_logger("classifeed_jobs.audit")
_SLICE: Final = 500
MAX_OPEN_PER_CALLER: Final = 10_000
_RETRY_AFTER_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change of a job or queue and its caller; logged after the change is committed."""

    action: str
    by: str
    job_id: UUID | None = None
    queue: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs, newest first. `next_after` is the start of the next page; None on the last page."""

    jobs: list[Job]
    next_after: UUID | None


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """A page of schedules, by name. `next_after` is the start of the next page; None on the last page."""

    schedules: list[ScheduleState]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class WorkerPage:
    """A page of worker processes, by id. `next_after` is the start of the next page; None on the last page."""

    workers: list[WorkerProcess]
    next_after: str | None


def log_audit(entry: AuditEntry) -> None:
    """Log an entry as `job.audit`. This is the default audit hook."""
    _log.info(
        "job.audit",
        action=entry.action,
        by=entry.by,
        job_id=str(entry.job_id) if entry.job_id is not None else None,
        queue=entry.queue,
        **entry.detail,
    )


class JobAdmin:
    """Administers the jobs of one service, for its HTTP API, gRPC API and command line.

    Errors are domain errors with a stable reason: JOB_NOT_FOUND, JOB_NOT_FAILED, JOBS_OPEN_LIMIT, SCHEDULE_NOT_FOUND.

    Args:
        database: The service's database.
        store: The service's job store.
        audit: Callback after each change; it must not raise.
        max_open_per_caller: Maximum number of incomplete jobs that one caller has triggered.
        schedules: The service's schedules.
    """

    def __init__(
        self,
        database: Database,
        store: JobStore,
        *,
        audit: Callable[[AuditEntry], None] = log_audit,
        max_open_per_caller: int = MAX_OPEN_PER_CALLER,
        schedules: Schedules | None = None,
    ) -> None:
        self._db = database
        self._store = store
        self._max_open_per_caller = max_open_per_caller
        self._queues = Queues()
        self._schedules = schedules or Schedules()
        self._audit = audit

    async def trigger(self, requests: Sequence[JobRequest], *, by: str) -> list[EnqueuedJob]:
        """Enqueue jobs, all or none; return the results in order.

        If an idempotency key was used before, the result is its job with the current status and the values that differ.

        Raises:
            ResourceExhausted: JOBS_OPEN_LIMIT: the caller would have too many incomplete jobs. Concurrent calls do not
                see each other: together, one call per connection of the pool can exceed the limit.
            ValueError: Two requests have the same idempotency key.
        """
        async with self._db.transaction() as tx:
            count = await self._store.count_made_by(tx, by, limit=self._max_open_per_caller)
            room = self._max_open_per_caller - count
            # A request without a key always creates a job. One with a key counts only if it creates a job.
            if sum(request.idempotency_key is None for request in requests) > room:
                raise self._too_many(by, count)
            responses = await self._store.enqueue_many(tx, requests, note={"by": by}, made_by=by)
            if sum(response.created for response in responses) > room:
                raise self._too_many(by, count)
        for request, response in zip(requests, responses, strict=True):
            if response.created:
                self._audit(AuditEntry("trigger", by, response.job_id, request.queue, {"task": request.task}))
        return responses

    async def get(self, job_id: UUID) -> Job:
        """Return a job, live or complete.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            return self._found(job_id, await self._store.get(tx, job_id))

    async def cancel(self, job_id: UUID, *, by: str, reason: str | None = None) -> Job:
        """Cancel a job. A queued job ends immediately, a running job is signalled to stop, a complete job is unchanged.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            job = self._found(job_id, await self._store.cancel(tx, job_id, reason=reason, by=by))
        self._audit(AuditEntry("cancel", by, job_id, job.queue, {"status": job.status}))
        return job

    async def retry(self, job_id: UUID, *, by: str) -> Job:
        """Put a failed or canceled job back into its queue.

        Raises:
            NotFound: JOB_NOT_FOUND.
            FailedPrecondition: JOB_NOT_FAILED: the job is not complete, or has succeeded.
        """
        async with self._db.transaction() as tx:
            is_back = await self._store.retry(tx, job_id, by=by)
            job = self._found(job_id, await self._store.get(tx, job_id))
        if not is_back:
            message = f"job {job_id} is {job.status}: only a failed or canceled one can be retried"
            raise FailedPrecondition("JOB_NOT_FAILED", message, metadata={"job_id": str(job_id)})
        self._audit(AuditEntry("retry", by, job_id, job.queue))
        return job

    async def retry_failed(
        self, which: JobFilter, *, by: str, error: str | None = None, since: datetime | None = None
    ) -> int:
        """Put all matching failed jobs back into their queues, slice by slice. Jobs that fail again meanwhile stay.

        A slice is one statement and one transaction, so locks are held for one slice only. After an error, the
        remaining jobs are unchanged, and another call continues with them.

        Args:
            which: Filter of the jobs.
            by: Caller, stored in the journal of each job.
            error: Text that the job's error contains; None for any error.
            since: Earliest completion time of the jobs, such as the start of an outage; None for any time.

        Returns:
            Number of requeued jobs.
        """
        async with self._db.transaction() as tx:
            until = await server_time(tx)
        request = asdict(which) | {"error": error, "since": since.isoformat() if since is not None else None}
        given = {name: value for name, value in request.items() if value is not None}
        count = 0
        after: UUID | None = None
        try:
            while True:
                bounds = {"error": error, "since": since, "until": until, "after": after, "limit": _SLICE}
                back, seen = await self._retry_slice(which, bounds, by)
                count += back
                if len(seen) < _SLICE:
                    return count
                after = seen[-1]
        finally:
            # Requeued jobs are committed, even if a later slice failed.
            self._audit(AuditEntry("retry_failed", by, queue=which.queue, detail={"jobs": count, "which": given}))

    async def _retry_slice(self, which: JobFilter, bounds: dict[str, Any], by: str) -> tuple[int, list[UUID]]:
        """Return the number of requeued jobs of a slice, and its job ids. A job that cannot be requeued is skipped."""
        try:
            async with self._db.transaction() as tx:
                back = await self._store.retry_failed(tx, which, **bounds, by=by)
            return len(back), back
        except Exception as error:
            if is_passing(error):
                raise
        async with self._db.transaction() as tx:
            seen = await self._store.retry_failed(tx, which, **bounds, is_dry=True)
        count = 0
        for job_id in seen:
            try:
                async with self._db.transaction() as tx:
                    count += await self._store.retry(tx, job_id, by=by)
            except Exception as error:
                if is_passing(error):
                    raise
                _log.error("job.retry.refused", job_id=str(job_id), error=name_fault(error))
        return count, seen

    async def list_jobs(
        self, which: JobFilter, *, status: str | None = None, after: UUID | None = None, limit: int = 100
    ) -> JobPage:
        """Return a page of jobs, live and complete, newest first.

        A job that cannot be read has the reason UNREADABLE and only its columns of fixed size.
        """
        page: dict[str, Any] = {**asdict(which), "status": status, "after": after, "limit": limit + 1}
        try:
            async with self._db.transaction() as tx:
                jobs = await self._store.list_jobs(tx, **page)
        except Exception as error:
            if is_passing(error) or isinstance(error, NotStorable):
                raise
            jobs = await self._list_apart(page)
        return JobPage(jobs[:limit], jobs[limit - 1].job_id if len(jobs) > limit else None)

    async def _list_apart(self, page: dict[str, Any]) -> list[Job]:
        async with self._db.transaction() as tx:
            jobs = await self._store.list_jobs(tx, **page, is_brief=True)
        for place, job in enumerate(jobs):
            try:
                async with self._db.transaction() as tx:
                    jobs[place] = await self._store.get(tx, job.job_id) or job
            except Exception as error:
                if is_passing(error):
                    raise
                _log.error("job.list.unreadable", job_id=str(job.job_id), error=name_fault(error))
                jobs[place] = replace(job, reason=UNREADABLE, error=f"its row cannot be read: {name_fault(error)}")
        return jobs

    async def list_events(self, job_id: UUID, *, after: int = 0, limit: int = 1000) -> list[JobEvent]:
        """Return a page of the job's journal, oldest first.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            self._found(job_id, await self._store.get(tx, job_id))
            return await self._store.list_events(tx, job_id, after=after, limit=limit)

    async def queues(self, *, queue: str | None = None, window_s: float = 60.0) -> list[QueueStats]:
        """Return the statistics of all queues, or of one; see `Queues.stats`."""
        async with self._db.transaction() as tx:
            return await self._queues.stats(tx, queue=queue, window_s=window_s)

    async def queue(self, queue: str) -> QueueStats:
        """Return the statistics of a queue. Any name is a queue, with or without jobs."""
        [stats] = await self.queues(queue=queue)
        return stats

    async def pause_queue(self, queue: str, *, by: str) -> None:
        """Pause a queue: no more of its jobs start, running jobs continue. Idempotent."""
        async with self._db.transaction() as tx:
            await self._queues.pause(tx, queue, by=by)
        self._audit(AuditEntry("pause", by, queue=queue))

    async def resume_queue(self, queue: str, *, by: str) -> None:
        """Resume a paused queue. Idempotent."""
        async with self._db.transaction() as tx:
            await self._queues.resume(tx, queue)
        self._audit(AuditEntry("resume", by, queue=queue))

    async def set_limits(self, queue: str, limits: QueueLimits, *, by: str) -> None:
        """Replace the limits of a queue; see `Queues.set_limits`."""
        async with self._db.transaction() as tx:
            await self._queues.set_limits(tx, queue, limits)
        self._audit(AuditEntry("set_limits", by, queue=queue, detail=asdict(limits)))

    async def list_locks(self, *, after: HeldLock | None = None, limit: int = 100) -> list[HeldLock]:
        """Return a page of held lock keys, the longest held first, with holder, time and number of waiting jobs."""
        async with self._db.transaction() as tx:
            return await self._store.list_locks(tx, after=after, limit=limit)

    async def list_workers(self, *, after: str = "", limit: int = 100) -> WorkerPage:
        """Return a page of processes that run jobs or did so recently."""
        async with self._db.transaction() as tx:
            found = await self._store.list_workers(tx, after=after, limit=limit + 1)
        return WorkerPage(found[:limit], found[limit - 1].worker_id if len(found) > limit else None)

    async def put_schedule(self, schedule: Schedule, *, by: str) -> ScheduleState:
        """Create or replace a schedule; see `Schedules.put`."""
        async with self._db.transaction() as tx:
            await self._schedules.put(tx, schedule)
            state = self._known(schedule.name, await self._schedules.get(tx, schedule.name))
        self._audit(AuditEntry("put_schedule", by, queue=schedule.queue, detail={"schedule": schedule.name}))
        return state

    async def get_schedule(self, name: str) -> ScheduleState:
        """Return a schedule and its state.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            return self._known(name, await self._schedules.get(tx, name))

    async def remove_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Remove a schedule and return its last state. Its jobs are kept.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            state = self._known(name, await self._schedules.remove(tx, name))
        self._audit(AuditEntry("remove_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def pause_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Pause a schedule: it creates no jobs until it is resumed, and its slots do not count as missed.

        Idempotent: the first pause is kept.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            await self._schedules.pause(tx, name, by=by)
            state = self._known(name, await self._schedules.get(tx, name))
        self._audit(AuditEntry("pause_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def resume_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Resume a paused schedule at its next slot from now. Idempotent.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            await self._schedules.resume(tx, name)
            state = self._known(name, await self._schedules.get(tx, name))
        self._audit(AuditEntry("resume_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def list_schedules(self, *, after: str = "", limit: int = 100) -> SchedulePage:
        """Return a page of schedules, by name."""
        async with self._db.transaction() as tx:
            found = await self._schedules.list(tx, after=after, limit=limit + 1)
        return SchedulePage(found[:limit], found[limit - 1].schedule.name if len(found) > limit else None)

    def _too_many(self, by: str, count: int) -> ResourceExhausted:
        limit = self._max_open_per_caller
        return ResourceExhausted(
            "JOBS_OPEN_LIMIT",
            f"{by} has {count} triggered jobs that are not complete; the limit is {limit}. Nothing was enqueued. Wait "
            f"until jobs complete, or cancel some, and try again.",
            metadata={"open": str(count), "limit": str(limit)},
            retry_after_s=_RETRY_AFTER_S,
        )

    @staticmethod
    def _found(job_id: UUID, job: Job | None) -> Job:
        if job is None:
            message = f"there is no job {job_id}, or it completed long ago and was removed from the archive"
            raise NotFound("JOB_NOT_FOUND", message, metadata={"job_id": str(job_id)})
        return job

    @staticmethod
    def _known(name: str, state: ScheduleState | None) -> ScheduleState:
        if state is None:
            raise NotFound("SCHEDULE_NOT_FOUND", f"there is no schedule {name!r}", metadata={"schedule": name})
        return state

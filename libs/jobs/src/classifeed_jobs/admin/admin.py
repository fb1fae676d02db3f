"""JobAdmin: what operators and public APIs do with the jobs, each in a transaction of its own, with an audit trail."""

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
    """Who did what to which job or queue; logged after it is durable."""

    action: str
    by: str
    job_id: UUID | None = None
    queue: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs, newest first; `next_after` begins the next one, None: this was the last."""

    jobs: list[Job]
    next_after: UUID | None


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """A page of schedules, in order of their names; `next_after` begins the next one, None: this was the last."""

    schedules: list[ScheduleState]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class WorkerPage:
    """A page of worker processes, in order of their ids; `next_after` begins the next one, None: this was the last."""

    workers: list[WorkerProcess]
    next_after: str | None


def log_audit(entry: AuditEntry) -> None:
    """Write a line of the log, `job.audit`: the default audit hook."""
    _log.info(
        "job.audit",
        action=entry.action,
        by=entry.by,
        job_id=str(entry.job_id) if entry.job_id is not None else None,
        queue=entry.queue,
        **entry.detail,
    )


class JobAdmin:
    """The jobs of one service as its HTTP, gRPC and command line show them.

    Errors are domain errors with a stable reason: JOB_NOT_FOUND, JOB_NOT_FAILED, JOBS_OPEN_LIMIT, SCHEDULE_NOT_FOUND.

    Args:
        database: the service's database.
        store: its job store.
        audit: called after each change; must not raise.
        max_open_per_caller: jobs that one caller may have triggered and that have not ended.
        schedules: the service's schedules.
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
        """Put jobs into their queues, all or none; the results in order.

        An idempotency key that is taken gives the job that has it, its present status and what was requested otherwise.

        Raises:
            ResourceExhausted: JOBS_OPEN_LIMIT: the caller would have too many jobs that have not ended. Concurrent
                calls do not see each other: as many as the pool has connections can pass the limit together.
            ValueError: two of the requests have the same idempotency key.
        """
        async with self._db.transaction() as tx:
            count = await self._store.count_made_by(tx, by, limit=self._max_open_per_caller)
            room = self._max_open_per_caller - count
            # Requests without a key make a job for certain; of the others only those count that make one.
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
        """Return the job, live or done.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            return self._found(job_id, await self._store.get(tx, job_id))

    async def cancel(self, job_id: UUID, *, by: str, reason: str | None = None) -> Job:
        """Cancel a job: a queued one ends at once, a running one is signalled to stop, an ended one is left as it is.

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
            FailedPrecondition: JOB_NOT_FAILED: it has not ended, or has succeeded.
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
        """Put all failed jobs that fit back into their queues, slice by slice; what fails again meanwhile stays.

        A slice is one statement and a transaction: no lock is held for longer, after a fault the rest is as it was, and
        another call goes on.

        Args:
            which: which of them.
            by: who requests it; kept with the journal of each job.
            error: only those whose error has this text in it.
            since: only those that ended then or later, as after the begin of an outage.

        Returns:
            How many went back.
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
            # What has gone back is durable, whatever became of the rest.
            self._audit(AuditEntry("retry_failed", by, queue=which.queue, detail={"jobs": count, "which": given}))

    async def _retry_slice(self, which: JobFilter, bounds: dict[str, Any], by: str) -> tuple[int, list[UUID]]:
        """Return how many jobs of a slice went back, and which it has; one that cannot go back stops no other."""
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
        """Return a page of jobs, live and done, newest first.

        A job that cannot be read has the reason UNREADABLE, and nothing but its columns of fixed size.
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
        """Return the figures of all queues, or of one; see `Queues.stats`."""
        async with self._db.transaction() as tx:
            return await self._queues.stats(tx, queue=queue, window_s=window_s)

    async def queue(self, queue: str) -> QueueStats:
        """Return the figures of one queue; any name is one, with or without jobs."""
        [stats] = await self.queues(queue=queue)
        return stats

    async def pause_queue(self, queue: str, *, by: str) -> None:
        """Start no more jobs of a queue; what runs goes on. Idempotent."""
        async with self._db.transaction() as tx:
            await self._queues.pause(tx, queue, by=by)
        self._audit(AuditEntry("pause", by, queue=queue))

    async def resume_queue(self, queue: str, *, by: str) -> None:
        """Let a paused queue go on. Idempotent."""
        async with self._db.transaction() as tx:
            await self._queues.resume(tx, queue)
        self._audit(AuditEntry("resume", by, queue=queue))

    async def set_limits(self, queue: str, limits: QueueLimits, *, by: str) -> None:
        """Replace the limits of a queue; see `Queues.set_limits`."""
        async with self._db.transaction() as tx:
            await self._queues.set_limits(tx, queue, limits)
        self._audit(AuditEntry("set_limits", by, queue=queue, detail=asdict(limits)))

    async def list_locks(self, *, after: HeldLock | None = None, limit: int = 100) -> list[HeldLock]:
        """Return a page of the lock keys that are held, the longest held first: by which job, in which process, since
        when, and how many jobs wait for it."""
        async with self._db.transaction() as tx:
            return await self._store.list_locks(tx, after=after, limit=limit)

    async def list_workers(self, *, after: str = "", limit: int = 100) -> WorkerPage:
        """Return a page of the processes that work or worked lately."""
        async with self._db.transaction() as tx:
            found = await self._store.list_workers(tx, after=after, limit=limit + 1)
        return WorkerPage(found[:limit], found[limit - 1].worker_id if len(found) > limit else None)

    async def put_schedule(self, schedule: Schedule, *, by: str) -> ScheduleState:
        """Make or replace a schedule; see `Schedules.put`."""
        async with self._db.transaction() as tx:
            await self._schedules.put(tx, schedule)
            state = self._known(schedule.name, await self._schedules.get(tx, schedule.name))
        self._audit(AuditEntry("put_schedule", by, queue=schedule.queue, detail={"schedule": schedule.name}))
        return state

    async def get_schedule(self, name: str) -> ScheduleState:
        """Return a schedule as it stands.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            return self._known(name, await self._schedules.get(tx, name))

    async def remove_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Remove a schedule, and return it as it was; its jobs stay.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            state = self._known(name, await self._schedules.remove(tx, name))
        self._audit(AuditEntry("remove_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def pause_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Make no jobs of a schedule until it is resumed; its slots meanwhile do not count as missed. Idempotent: the
        first pause stays.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            await self._schedules.pause(tx, name, by=by)
            state = self._known(name, await self._schedules.get(tx, name))
        self._audit(AuditEntry("pause_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def resume_schedule(self, name: str, *, by: str) -> ScheduleState:
        """Let a paused schedule go on with its next slot from now. Idempotent.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        async with self._db.transaction() as tx:
            await self._schedules.resume(tx, name)
            state = self._known(name, await self._schedules.get(tx, name))
        self._audit(AuditEntry("resume_schedule", by, queue=state.schedule.queue, detail={"schedule": name}))
        return state

    async def list_schedules(self, *, after: str = "", limit: int = 100) -> SchedulePage:
        """Return a page of schedules, in order of their names."""
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

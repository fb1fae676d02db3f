"""JobStore: enqueue, cancel and look up jobs, always in the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_jobs.enqueue.checking import check_filter
from classifeed_jobs.enqueue.copy import copy_jobs
from classifeed_jobs.enqueue.insert import insert_jobs
from classifeed_jobs.enqueue.notifier import Notifier
from classifeed_jobs.model.failure_hooks import call_hooks
from classifeed_jobs.model.job import EnqueuedJob, HeldLock, Job, JobEvent, JobFilter, JobRequest, WorkerProcess
from classifeed_jobs.model.storable import MAX_MESSAGE, MAX_NAME, check_texts, clean_json, clean_text
from classifeed_jobs.model.stored import job_of, read_json
from classifeed_jobs.model.task import FailedJob, Task
from classifeed_jobs.schema.promotion import notify_queues, promote_next

if TYPE_CHECKING:
    from pydantic import BaseModel

_SQL = load_queries("classifeed_jobs.enqueue", "jobs.sql")
_CANCEL = _SQL["cancel_job"]
_MAKE_DUE = _SQL["make_due"]
_GET = _SQL["get_job"]
_LIST = _SQL["list_jobs"]
_EVENTS = _SQL["list_events"]
_LOCKS = _SQL["list_locks"]
_WORKERS = _SQL["list_workers"]
_RETRY = _SQL["retry_jobs"]
_COUNT_LIVE = _SQL["count_live"]
_COUNT_MADE_BY = _SQL["count_made_by"]
_NEWEST = _SQL["find_newest"]
_UNKNOWN_KEYS = _SQL["list_unknown_keys"]

_QUIETEN = _SQL["quieten"]
_UNQUIETEN = _SQL["unquieten"]
KEY_TTL_S: Final = 30 * 86400.0
_LAST_MS: Final = (1 << 48) - 2
_RETRYABLE: Final = ("failed", "canceled")


class JobStore:
    """Jobs of one service, in the job tables of its schema.

    Every method works in the given transaction: a job exists if and only if the caller's transaction commits, and
    workers are notified at the commit.

    Args:
        default_lease_ttl_s: Default lease of a job, in seconds.
        key_ttl_s: Seconds for which an idempotency key is kept after its first use.
        notifier: Notifier that wakes workers after its transactions; None: each transaction notifies them itself.
        tasks: Tasks whose failure hooks are called for jobs that are canceled before they run; None if there are none.
    """

    def __init__(
        self,
        *,
        default_lease_ttl_s: int = 60,
        key_ttl_s: float = KEY_TTL_S,
        notifier: Notifier | None = None,
        tasks: Mapping[str, Task] | None = None,
    ) -> None:
        self._default_lease_ttl_s = default_lease_ttl_s
        self._key_ttl_s = key_ttl_s
        self._notifier = notifier
        self.tasks: Mapping[str, Task] = tasks if tasks is not None else {}

    async def enqueue(
        self,
        tx: Tx,
        queue: str,
        task: str,
        args: Mapping[str, Any] | BaseModel,
        *,
        lock_key: str | None = None,
        idempotency_key: str | None = None,
        partition_key: str | None = None,
        priority: int = 100,
        available_at: datetime | None = None,
        max_attempts: int | None = 5,
        lease_ttl_s: int | None = None,
        producer: str | None = None,
        consumer_group: str | None = None,
        trace_context: Mapping[str, str] | None = None,
        max_worker_deaths: int | None = 3,
    ) -> EnqueuedJob:
        """Enqueue a job. Other producers and workers do not wait for it, except for the same idempotency key.

        Args:
            tx: Transaction of the caller.
            queue: Name of the queue. Any name is valid; in a queue without workers, the job waits.
            task: Name of the handler in the worker's registry.
            args: Mapping that can be encoded as JSON, or a pydantic model.
            lock_key: Key of which only one job runs at a time; None for no exclusion.
            idempotency_key: Key for which only the first enqueue creates a job.
            partition_key: Label for limits and fairness; it is not a lock.
            priority: Priority; jobs with smaller values run first.
            available_at: Earliest start; None for immediately.
            max_attempts: Maximum number of attempts; None for no limit.
            lease_ttl_s: Seconds without a heartbeat of its worker after which another worker gets the job.
            producer: Label of the producer.
            consumer_group: Label of the intended consumers.
            trace_context: W3C headers of the trace that the run belongs to; None for the current trace.
            max_worker_deaths: Number of deaths of its worker after which the job is quarantined; None for never.

        Returns:
            The job of the request, and whether this call created it.

        Raises:
            NotStorable: A value exceeds the limits of the engine (`model.storable`); nothing was written.
        """
        request = JobRequest(
            queue=queue,
            task=task,
            args=args if isinstance(args, Mapping) else args.model_dump(mode="json"),
            lock_key=lock_key,
            idempotency_key=idempotency_key,
            partition_key=partition_key,
            priority=priority,
            available_at=available_at,
            max_attempts=max_attempts,
            lease_ttl_s=lease_ttl_s,
            producer=producer,
            consumer_group=consumer_group,
            trace_context=trace_context,
            max_worker_deaths=max_worker_deaths,
        )
        return (await self.enqueue_many(tx, [request]))[0]

    async def enqueue_many(
        self,
        tx: Tx,
        requests: Sequence[JobRequest],
        *,
        note: Mapping[str, Any] | None = None,
        made_by: str | None = None,
    ) -> list[EnqueuedJob]:
        """Enqueue many jobs in one statement, as `enqueue` does; return the results in the order of the requests.

        Args:
            tx: Transaction of the caller.
            requests: Jobs to enqueue.
            note: Details for the first event of the journal, such as the caller.
            made_by: Caller whose open jobs `count_made_by` counts; None for no caller.

        Raises:
            ValueError: Two requests have the same idempotency key.
            NotStorable: A request exceeds the limits of the engine; nothing was enqueued.
        """
        keys = [request.idempotency_key for request in requests if request.idempotency_key is not None]
        if len(set(keys)) != len(keys):
            raise ValueError("two requests of one enqueue_many have the same idempotency key: send each key once")
        if not requests:
            return []
        if self._notifier is not None:
            self._notifier.flag(tx, {request.queue for request in requests})
        return await insert_jobs(
            tx,
            requests,
            default_lease_ttl_s=self._default_lease_ttl_s,
            key_ttl_s=self._key_ttl_s,
            note=Jsonb(clean_json(note)) if note else None,
            made_by=clean_text(made_by, MAX_NAME) if made_by is not None else None,
        )

    async def count_made_by(self, tx: Tx, made_by: str, *, limit: int) -> int:
        """Return the number of incomplete jobs of a caller, counted up to `limit`."""
        cursor = await tx.execute(_COUNT_MADE_BY, {"made_by": made_by, "limit": limit})
        [count] = await cursor.fetchone() or (0,)
        return int(count)

    async def copy_many(self, tx: Tx, requests: Iterable[JobRequest]) -> int:
        """Enqueue any number of jobs by COPY. Workers are notified once, at the commit.

        Returns:
            Number of enqueued jobs.

        Raises:
            ValueError: A request has an idempotency key.
            NotStorable: A request exceeds the limits of the engine; roll back.
        """
        before = await (await tx.execute(_QUIETEN)).fetchone()
        counts = await copy_jobs(tx, requests, default_lease_ttl_s=self._default_lease_ttl_s)
        await tx.execute(_UNQUIETEN, {"notify": before[0] if before is not None else ""})
        if self._notifier is None or not self._notifier.flag(tx, counts):
            await notify_queues(tx, list(counts))
        return sum(counts.values())

    async def cancel(self, tx: Tx, job_id: UUID, *, reason: str | None = None, by: str | None = None) -> Job | None:
        """Cancel a job. A queued job ends immediately, a running job is signalled to stop, a complete job is unchanged.

        Idempotent. It does not wait for the job's effects. The failure hook of a queued job is called in the same
        transaction. Keep the transaction short: completions of jobs with the same lock key wait for it.

        Returns:
            The job after the call; None if there is no such job.

        Raises:
            HookFailed: The hook failed; roll back.
        """
        message = {"reason": reason, "by": by}
        noted = {name: clean_text(text) for name, text in message.items() if text}
        payload = Jsonb(noted) if noted else None
        cursor = await tx.execute(_CANCEL, {"job_id": job_id, "payload": payload})
        row = await cursor.fetchone()
        if row is not None and row[1]:
            freed_key, _, task, queue, attempt, args = row[:6]
            failed = FailedJob(job_id, queue, task, attempt, "canceled", "", noted.get("reason", ""), "")
            await call_hooks(tx, self.tasks, [(failed, read_json(args))])
            if freed_key is not None:
                await promote_next(tx, [freed_key])
        return await self.get(tx, job_id)

    async def make_due(self, tx: Tx, job_ids: Collection[UUID]) -> None:
        """Make delayed jobs due, because the event that they wait for has happened.

        Idempotent; complete and unknown jobs are ignored. No wake is lost: a job that is running now and then raises
        `Snooze` runs again immediately. Write the awaited state in the same transaction.
        """
        if not job_ids:
            return
        rows = await (await tx.execute(_MAKE_DUE, {"job_ids": list(job_ids)})).fetchall()
        queues = {queue for queue, waits_for in rows if waits_for is not None}
        if queues and (self._notifier is None or not self._notifier.flag(tx, queues)):
            await notify_queues(tx, list(queues))

    async def retry(self, tx: Tx, job_id: UUID, *, by: str | None = None) -> bool:
        """Put a failed or canceled job back into its queue with all its attempts; it keeps its id and its checkpoint.

        Returns:
            Whether the job was requeued; false if it is unknown, live or succeeded, or if another retry has locked it.
        """
        return bool(await self._retry(tx, JobFilter(), statuses=_RETRYABLE, limit=1, by=by, job_id=job_id))

    async def retry_failed(
        self,
        tx: Tx,
        which: JobFilter,
        *,
        error: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: UUID | None = None,
        limit: int = 500,
        by: str | None = None,
        is_dry: bool = False,
    ) -> list[UUID]:
        """Put a slice of failed jobs back into their queues, oldest first, in one statement.

        Call it until its result is shorter than `limit`.

        Args:
            tx: Transaction of the caller.
            which: Filter of the jobs.
            error: Text that the job's error contains; None for any error.
            since: Earliest completion time of the jobs.
            until: Latest completion time of the jobs; it excludes jobs that fail again meanwhile.
            after: Last job of the previous slice.
            limit: Maximum number of jobs in the slice.
            by: Caller, stored in the journal of each job.
            is_dry: Whether to list the jobs of the slice only.

        Returns:
            The requeued jobs, in order.
        """
        return await self._retry(
            tx,
            which,
            statuses=("failed",),
            limit=limit,
            by=by,
            error=error,
            since=since,
            until=until,
            after=after,
            is_dry=is_dry,
        )

    async def _retry(
        self,
        tx: Tx,
        which: JobFilter,
        *,
        statuses: Sequence[str],
        limit: int,
        by: str | None,
        job_id: UUID | None = None,
        error: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: UUID | None = None,
        is_dry: bool = False,
    ) -> list[UUID]:
        check_filter(which)
        check_texts([("error", error or None, MAX_MESSAGE)])
        parameters = asdict(which) | {
            "statuses": list(statuses),
            "job_id": job_id,
            "error": error,
            "since": since,
            "until": until,
            "after": after,
            "limit": limit,
            "is_dry": is_dry,
            "note": Jsonb({"by": clean_text(by)}) if by else None,
        }
        rows = await (await tx.execute(_RETRY, parameters)).fetchall()
        if self._notifier is not None and not is_dry:
            self._notifier.flag(tx, {row[1] for row in rows})
        return [row[0] for row in rows]

    async def get(self, tx: Tx, job_id: UUID) -> Job | None:
        """Return a job, live or complete; None if it is unknown or was removed from the archive.

        A job whose args cannot be read has the reason UNREADABLE and no args.
        """
        rows = await fetch_named(tx, _GET, {"job_id": job_id, "is_brief": False})
        return job_of(rows[0]) if rows else None

    async def list_jobs(
        self,
        tx: Tx,
        *,
        queue: str | None = None,
        status: str | None = None,
        task: str | None = None,
        lock_key: str | None = None,
        partition_key: str | None = None,
        producer: str | None = None,
        consumer_group: str | None = None,
        after: UUID | None = None,
        limit: int = 100,
        is_brief: bool = False,
    ) -> list[Job]:
        """Return a page of jobs, live and complete, newest first. The last job_id is `after` of the next page.

        With `is_brief`, args, progress, checkpoint, error and result are left out.
        """
        which = JobFilter(queue, task, lock_key, partition_key, producer, consumer_group)
        check_filter(which)
        parameters = asdict(which) | {"status": status, "after": after, "limit": limit, "is_brief": is_brief}
        return [job_of(row) for row in await fetch_named(tx, _LIST, parameters)]

    async def list_events(self, tx: Tx, job_id: UUID, *, after: int = 0, limit: int = 1000) -> list[JobEvent]:
        """Return a page of the job's journal, oldest first. The last event_id is `after` of the next page."""
        cursor = await tx.execute(_EVENTS, {"job_id": job_id, "after": after, "limit": limit})
        return [JobEvent(*row) for row in await cursor.fetchall()]

    async def list_locks(self, tx: Tx, *, after: HeldLock | None = None, limit: int = 100) -> list[HeldLock]:
        """Return a page of held lock keys, the longest held first. The last lock is `after` of the next page."""
        after_at, after_key = (after.acquired_at, after.lock_key) if after is not None else (None, "")
        cursor = await tx.execute(_LOCKS, {"after_at": after_at, "after_key": after_key, "limit": limit})
        return [HeldLock(*row) for row in await cursor.fetchall()]

    async def list_workers(self, tx: Tx, *, after: str = "", limit: int = 100) -> list[WorkerProcess]:
        """Return a page of processes that run jobs or did so recently, by id."""
        cursor = await tx.execute(_WORKERS, {"after": after, "limit": limit})
        return [WorkerProcess(*row) for row in await cursor.fetchall()]

    async def newest_ms(self, tx: Tx, *, until_ms: int = _LAST_MS) -> int:
        """Return the creation time of the newest job up to `until_ms`, live or complete; 0 if there is none.

        Both times are milliseconds since 1970.
        """
        found = await (await tx.execute(_NEWEST, {"until_ms": until_ms})).fetchone()
        return int(found[0]) if found is not None else 0

    async def list_unknown_keys(self, tx: Tx, keys: Collection[str]) -> set[str]:
        """Return the idempotency keys that are not stored: they were never used, or have expired."""
        return {key for (key,) in await (await tx.execute(_UNKNOWN_KEYS, {"keys": list(keys)})).fetchall()}

    async def backlog(self, tx: Tx, queues: Sequence[str] | None = None) -> dict[str, int]:
        """Return the number of incomplete jobs (queued, delayed, running) by queue; by default, of all queues."""
        cursor = await tx.execute(_COUNT_LIVE, {"queues": list(queues) if queues is not None else None})
        counts = dict.fromkeys(queues or (), 0)
        counts.update(await cursor.fetchall())
        return counts

"""JobStore: enqueue, cancel and look up jobs, always in the caller's own transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import BaseModel

from classifeed_common.db import Tx, load_queries
from classifeed_common.telemetry import inject_trace
from classifeed_jobs.job import EnqueuedJob, HeldLock, Job, JobEvent, JobRequest

_SQL = load_queries("classifeed_jobs.sql", "jobs.sql")
_ENQUEUE = _SQL["enqueue_jobs"]
_FIND_KEY = _SQL["find_key"]
_CANCEL = _SQL["cancel_job"]
_GET = _SQL["get_job"]
_LIST = _SQL["list_jobs"]
_EVENTS = _SQL["list_events"]
_LOCKS = _SQL["list_locks"]
_COUNT_LIVE = _SQL["count_live"]
_ADMIT_NEXT = load_queries("classifeed_jobs.sql", "claims.sql")["admit_next"]

_HASHED_FIELDS = ("queue", "task", "args", "lock_key")
_PIECE = 8


class JobStore:
    """Jobs of one service, in the job tables of its schema.

    Every method works in the transaction it is given: a job exists if and only if the caller's transaction commits, and
    workers hear of it at that commit.

    Args:
        default_lease_ttl_s: lease of jobs that do not bring their own.
        key_ttl_s: how long an idempotency key is remembered, from its first use.
    """

    def __init__(self, *, default_lease_ttl_s: int = 60, key_ttl_s: float = 30 * 86400.0) -> None:
        self._default_lease_ttl_s = default_lease_ttl_s
        self._key_ttl_s = key_ttl_s

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
    ) -> EnqueuedJob:
        """Put a job into a queue; takes no lock that another producer or a worker could wait for, except on the same
        idempotency key.

        Args:
            tx: the caller's transaction.
            queue: any name; without a worker the job waits.
            task: name in the worker's registry.
            args: JSON-able mapping or a pydantic model.
            lock_key: of two jobs with one key only one runs at a time; None: no exclusion.
            idempotency_key: of several enqueues with one key only the first makes a job.
            partition_key: label for limits and fairness; no exclusion.
            priority: smaller runs first.
            available_at: not before; None: at once.
            max_attempts: how often it may be tried; None: for ever.
            lease_ttl_s: how long its worker may be silent before the job is given to another one.
            producer: label.
            consumer_group: label.
            trace_context: W3C headers of the trace that the run belongs to; None: the current one.

        Returns:
            The job that now has the request, and whether this call made it.
        """
        request = JobRequest(
            queue=queue,
            task=task,
            args=args.model_dump(mode="json") if isinstance(args, BaseModel) else args,
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
        )
        return (await self.enqueue_many(tx, [request]))[0]

    async def enqueue_many(self, tx: Tx, requests: Sequence[JobRequest]) -> list[EnqueuedJob]:
        """Put many jobs into their queues in one statement; as `enqueue`, the answers in the order of the requests.

        Raises:
            ValueError: two of the requests have the same idempotency key.
        """
        keys = [request.idempotency_key for request in requests if request.idempotency_key is not None]
        if len(set(keys)) != len(keys):
            raise ValueError("two requests of one enqueue_many have the same idempotency key: send each key once")
        if not requests:
            return []
        hashes = [_request_hash(request) if request.idempotency_key is not None else None for request in requests]
        cursor = await tx.execute(_ENQUEUE, self._columns(requests, hashes))
        answers = [EnqueuedJob(job_id, created) for job_id, created in await cursor.fetchall()]
        for place, (answer, request) in enumerate(zip(answers, requests, strict=True)):
            if not answer.created:
                answers[place] = await self._find_taken(tx, request)
        return answers

    async def cancel(self, tx: Tx, job_id: UUID, *, reason: str | None = None) -> Job | None:
        """Cancel a job: a queued one ends at once, a running one is asked to stop, an ended one is left as it is.

        Idempotent. Does not wait for the job's effects. Keep the transaction short: the ends of jobs with the same lock
        key wait for it.

        Returns:
            The job as it stands afterwards; None when there is no such job.
        """
        payload = Jsonb({"reason": reason}) if reason else None
        cursor = await tx.execute(_CANCEL, {"job_id": job_id, "payload": payload})
        row = await cursor.fetchone()
        if row is not None and row[0] is not None:
            await tx.execute(_ADMIT_NEXT, {"lock_keys": [row[0]]})
        return await self.get(tx, job_id)

    async def get(self, tx: Tx, job_id: UUID) -> Job | None:
        """The job, live or done; None when it is unknown or was dropped from the archive."""
        cursor = await tx.execute(_GET, {"job_id": job_id})
        row = await cursor.fetchone()
        return Job(*row) if row is not None else None

    async def list_jobs(
        self,
        tx: Tx,
        *,
        queue: str | None = None,
        status: str | None = None,
        task: str | None = None,
        lock_key: str | None = None,
        after: UUID | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """A page of jobs, newest first; the last job_id is `after` of the next page."""
        parameters = {
            "queue": queue,
            "status": status,
            "task": task,
            "lock_key": lock_key,
            "after": after,
            "limit": limit,
        }
        cursor = await tx.execute(_LIST, parameters)
        return [Job(*row) for row in await cursor.fetchall()]

    async def list_events(self, tx: Tx, job_id: UUID) -> list[JobEvent]:
        """The job's journal, oldest first."""
        cursor = await tx.execute(_EVENTS, {"job_id": job_id})
        return [JobEvent(*row) for row in await cursor.fetchall()]

    async def list_locks(self, tx: Tx, *, after: str = "", limit: int = 100) -> list[HeldLock]:
        """A page of the lock keys that are held, in their order."""
        cursor = await tx.execute(_LOCKS, {"after": after, "limit": limit})
        return [HeldLock(*row) for row in await cursor.fetchall()]

    async def backlog(self, tx: Tx, queues: Sequence[str] | None = None) -> dict[str, int]:
        """How many jobs have not ended yet (queued, delayed, running), by queue; of all queues when none are named."""
        cursor = await tx.execute(_COUNT_LIVE, {"queues": list(queues) if queues is not None else None})
        counts = dict.fromkeys(queues or (), 0)
        counts.update(await cursor.fetchall())
        return counts

    async def _find_taken(self, tx: Tx, request: JobRequest) -> EnqueuedJob:
        # A statement of its own: it must see what was committed while the insert waited.
        cursor = await tx.execute(_FIND_KEY, {"idempotency_key": request.idempotency_key})
        row = await cursor.fetchone()
        if row is None:
            raise LookupError(
                f"the idempotency key {request.idempotency_key!r} was taken and then forgotten during this "
                "transaction; run it again, in READ COMMITTED"
            )
        job_id, taken_by = row
        asked = _request_hash(request)
        differs = tuple(
            name
            for place, name in enumerate(_HASHED_FIELDS)
            if asked[place * _PIECE : (place + 1) * _PIECE] != taken_by[place * _PIECE : (place + 1) * _PIECE]
        )
        return EnqueuedJob(job_id, created=False, differs=differs)

    def _columns(self, requests: Sequence[JobRequest], hashes: Sequence[bytes | None]) -> dict[str, Any]:
        current_trace: dict[str, str] = {}
        inject_trace(current_trace)
        return {
            "queues": [request.queue for request in requests],
            "tasks": [request.task for request in requests],
            "args": [Jsonb(dict(request.args)) for request in requests],
            "lock_keys": [request.lock_key for request in requests],
            "idempotency_keys": [request.idempotency_key for request in requests],
            "request_hashes": list(hashes),
            "partition_keys": [request.partition_key for request in requests],
            "priorities": [request.priority for request in requests],
            "available_ats": [request.available_at for request in requests],
            "max_attempts": [request.max_attempts for request in requests],
            "lease_ttls_sec": [request.lease_ttl_s or self._default_lease_ttl_s for request in requests],
            "producers": [request.producer for request in requests],
            "consumer_groups": [request.consumer_group for request in requests],
            "trace_contexts": [
                Jsonb(dict(context)) if (context := request.trace_context or current_trace) else None
                for request in requests
            ],
            "key_ttl_s": self._key_ttl_s,
        }


def _request_hash(request: JobRequest) -> bytes:
    """Eight bytes for each field that a second request under the same key may ask otherwise."""
    values = (request.queue, request.task, dict(request.args), request.lock_key)
    return b"".join(
        hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).digest()[:_PIECE]
        for value in values
    )

"""Enqueuing of jobs by INSERT, with idempotency keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.enqueue.checking import check_request
from classifeed_jobs.model.job import EnqueuedJob, JobRequest
from classifeed_jobs.telemetry.traces import kept_trace

_SQL = load_queries("classifeed_jobs.enqueue", "jobs.sql")
_ENQUEUE = _SQL["enqueue_jobs"]
_FIND_KEY = _SQL["find_key"]

_HASHED_FIELDS: Final = ("queue", "task", "args", "lock_key")
_PIECE: Final = 8


async def insert_jobs(
    tx: Tx,
    requests: Sequence[JobRequest],
    *,
    default_lease_ttl_s: int,
    key_ttl_s: float,
    note: Jsonb | None,
    made_by: str | None,
) -> list[EnqueuedJob]:
    """Insert jobs in one statement; return the results in the order of the requests.

    Raises:
        NotStorable: A request exceeds the limits of the engine; nothing was written.
    """
    args = [check_request(request) for request in requests]
    hashes = [request_hash(request) if request.idempotency_key is not None else None for request in requests]
    trace = kept_trace()
    parameters: dict[str, Any] = {
        "queues": [request.queue for request in requests],
        "tasks": [request.task for request in requests],
        "args": args,
        "lock_keys": [request.lock_key for request in requests],
        "idempotency_keys": [request.idempotency_key for request in requests],
        "request_hashes": hashes,
        "partition_keys": [request.partition_key for request in requests],
        "priorities": [request.priority for request in requests],
        "available_ats": [request.available_at for request in requests],
        "max_attempts": [request.max_attempts for request in requests],
        "lease_ttls_sec": [request.lease_ttl_s or default_lease_ttl_s for request in requests],
        "producers": [request.producer for request in requests],
        "consumer_groups": [request.consumer_group for request in requests],
        "trace_contexts": [trace_of(request, trace) for request in requests],
        "max_worker_deaths": [request.max_worker_deaths for request in requests],
        "key_ttl_s": key_ttl_s,
        "note": note,
        "made_by": made_by,
    }
    cursor = await tx.execute(_ENQUEUE, parameters)
    responses = [EnqueuedJob(job_id, created) for job_id, created in await cursor.fetchall()]
    for place, (response, request) in enumerate(zip(responses, requests, strict=True)):
        if not response.created:
            responses[place] = await _find_taken(tx, request)
    return responses


def trace_of(request: JobRequest, current: dict[str, str]) -> Jsonb | None:
    """Return the trace context to store with a request's job: its own, or the current one."""
    context = request.trace_context or current
    return Jsonb(dict(context)) if context else None


def request_hash(request: JobRequest) -> bytes:
    """Return a hash of eight bytes for each field that can differ between requests with the same idempotency key."""
    values = (request.queue, request.task, dict(request.args), request.lock_key)
    return b"".join(
        hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).digest()[:_PIECE]
        for value in values
    )


async def _find_taken(tx: Tx, request: JobRequest) -> EnqueuedJob:
    # A separate statement: it must see rows that were committed while the insert waited.
    cursor = await tx.execute(_FIND_KEY, {"idempotency_key": request.idempotency_key})
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(
            f"the idempotency key {request.idempotency_key!r} was used and then removed during this transaction; run "
            f"it again, in READ COMMITTED"
        )
    job_id, taken_by, status = row
    hashed = request_hash(request)
    differs = tuple(
        name
        for index, name in enumerate(_HASHED_FIELDS)
        if hashed[index * _PIECE : (index + 1) * _PIECE] != taken_by[index * _PIECE : (index + 1) * _PIECE]
    )
    return EnqueuedJob(job_id, created=False, differs=differs, status=status)

"""Enqueuing of many jobs by COPY, the fastest method."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Final
from uuid import UUID

from classifeed_common.db import Tx
from classifeed_jobs.enqueue.checking import check_request
from classifeed_jobs.enqueue.insert import trace_of
from classifeed_jobs.model.job import JobRequest
from classifeed_jobs.server_time import server_time
from classifeed_jobs.telemetry.traces import kept_trace

_BATCH: Final = 10_000
_COPY_JOBS: Final = (
    "COPY dl_jobs (job_id, queue, task, args, lock_key, partition_key, priority, available_at, waits_for, "
    "max_attempts, lease_ttl_sec, producer, consumer_group, trace_context, max_worker_deaths) FROM STDIN"
)
_COPY_EVENTS: Final = "COPY dl_job_events (job_id, kind, attempt, claim_no) FROM STDIN"


async def copy_jobs(tx: Tx, requests: Iterable[JobRequest], *, default_lease_ttl_s: int) -> dict[str, int]:
    """Enqueue any number of jobs, in batches of 10,000; workers are not notified.

    Returns:
        Number of jobs by queue.

    Raises:
        ValueError: A request has an idempotency key; COPY cannot look it up.
        NotStorable: A request exceeds the limits of the engine; roll back.
    """
    counts: dict[str, int] = {}
    trace = kept_trace()
    rest = iter(requests)
    while batch := list(islice(rest, _BATCH)):
        if keyed := [request.idempotency_key for request in batch if request.idempotency_key is not None]:
            raise ValueError(f"COPY cannot look up idempotency keys ({keyed[0]!r}): use enqueue_many")
        args = [check_request(request) for request in batch]
        now = await server_time(tx)
        ids = [_new_job_id(now) for _ in batch]
        async with tx.cursor() as cursor:
            async with cursor.copy(_COPY_JOBS) as copy:
                for job_id, request, text in zip(ids, batch, args, strict=True):
                    available_at = request.available_at or now
                    counts[request.queue] = counts.get(request.queue, 0) + 1
                    await copy.write_row(
                        (
                            job_id,
                            request.queue,
                            request.task,
                            text,
                            request.lock_key,
                            request.partition_key,
                            request.priority,
                            available_at,
                            "time" if available_at > now else None,
                            request.max_attempts,
                            request.lease_ttl_s or default_lease_ttl_s,
                            request.producer,
                            request.consumer_group,
                            trace_of(request, trace),
                            request.max_worker_deaths,
                        )
                    )
            async with cursor.copy(_COPY_EVENTS) as copy:
                for job_id in ids:
                    await copy.write_row((job_id, "queued", 0, 0))
    return counts


def _new_job_id(now: datetime) -> UUID:
    """Return an id as dl_new_job_id does: a UUID of version 7 (RFC 9562), by the database's clock."""
    milliseconds = int(now.timestamp() * 1000)
    value = milliseconds << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)

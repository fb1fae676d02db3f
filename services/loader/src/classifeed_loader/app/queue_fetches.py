"""Queues fetches: each gets its job in the transaction that creates it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import JobRequest, JobStore
from classifeed_loader.domain.fetches import FetchKey

QUEUE: Final = "feed.fetch"
TASK: Final = "feed.fetch"
# A user waits for a requested fetch.
REQUESTED_PRIORITY: Final = 50
SCHEDULED_PRIORITY: Final = 100


async def queue_fetches(tx: Tx, jobs: JobStore, keys: Sequence[FetchKey], *, priority: int) -> None:
    """Queue the jobs of fetches in the given order. Call it in the transaction that creates the fetches, so that each
    has a job.
    """
    requests = [
        JobRequest(
            QUEUE,
            TASK,
            key._asdict(),
            lock_key=key.lock_key,
            partition_key=key.seller_id,
            idempotency_key=key.name,
            priority=priority,
            # Transient faults are retried without limit; permanent ones complete the fetch and do not fail the job.
            max_attempts=None,
            producer="loader",
        )
        for key in keys
    ]
    await jobs.enqueue_many(tx, requests)

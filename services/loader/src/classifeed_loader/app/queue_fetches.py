"""Queue fetches: each with its job, in the transaction that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import JobRequest, JobStore
from classifeed_loader.domain.fetches import FetchKey

QUEUE: Final = "feed.fetch"
TASK: Final = "feed.fetch"
# Somebody waits for it.
REQUESTED_PRIORITY: Final = 50
SCHEDULED_PRIORITY: Final = 100


async def queue_fetches(tx: Tx, jobs: JobStore, keys: Sequence[FetchKey], *, priority: int) -> None:
    """Have fetches run in the order given; in the transaction that makes them, so that none is without its job."""
    requests = [
        JobRequest(
            QUEUE,
            TASK,
            key._asdict(),
            lock_key=key.lock_key,
            partition_key=key.seller_id,
            idempotency_key=key.name,
            priority=priority,
            # Passing faults are retried for as long as they last; lasting ones end the fetch, not the job.
            max_attempts=None,
            producer="loader",
        )
        for key in keys
    ]
    await jobs.enqueue_many(tx, requests)

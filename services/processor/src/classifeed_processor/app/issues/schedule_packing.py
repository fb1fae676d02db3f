"""Schedule the job that packs the issues of an ended load into one file."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import JobStore
from classifeed_jobs.server_time import server_time
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import issues

QUEUE: Final = "processor.pack-records"
TASK: Final = "processor.pack-records"
_LATE_S: Final = 600.0
"""Seconds that late issues wait for others, because each packing writes the whole file again."""
_MANY_CHUNKS: Final = 256
"""Number of chunks that ends the wait: chunks of late issues overlap, and a reader holds all of them in memory."""
_BEHIND_LOADS: Final = 200


async def schedule_packing(tx: Tx, jobs: JobStore, key: TaskKey, *, is_late: bool = False) -> None:
    """Enqueue the packing of an ended load, unless all its issues have rows or are packed.

    There is one job for all chunks since the last packing, with the first chunk in its idempotency key. Call it under
    the lock of the task, after the chunks are inserted.

    Args:
        tx: transaction that ends the task or inserts the chunks.
        jobs: job store.
        key: key of the task.
        is_late: whether the load had ended before.
    """
    first, count = await issues.count_chunks(tx, key, limit=_MANY_CHUNKS)
    if first is None:
        return
    is_due = not is_late or count >= _MANY_CHUNKS
    job = await jobs.enqueue(
        tx,
        QUEUE,
        TASK,
        key._asdict(),
        lock_key=key.issues_ref,
        idempotency_key=f"{key.issues_ref}:{first}",
        partition_key=key.seller_id,
        priority=_BEHIND_LOADS,
        available_at=None if is_due else await server_time(tx) + timedelta(seconds=_LATE_S),
        max_attempts=None,
        producer="processor",
    )
    if is_due and not job.created:
        await jobs.make_due(tx, [job.job_id])

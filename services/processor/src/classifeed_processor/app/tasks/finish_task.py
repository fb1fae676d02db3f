"""End a task, and start the next one."""

from __future__ import annotations

from classifeed.feeds.v1 import task_pb2
from classifeed_common.db import Tx
from classifeed_feeds.faults import FeedFault
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.schedule_packing import schedule_packing
from classifeed_processor.app.tasks.report_load import report_end
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import tasks


async def finish_task(
    tx: Tx,
    jobs: JobStore,
    key: TaskKey,
    status: task_pb2.TaskStatus,
    fault: FeedFault | None = None,
    *,
    is_fetched: bool = False,
) -> None:
    """End a task, unless it has ended, and let the next task of its namespace begin.

    Args:
        tx: open transaction.
        jobs: job store of the tasks' jobs.
        key: key of the task.
        status: final status.
        fault: fault of a task that FAILED or was CANCELED.
        is_fetched: whether the file was fetched; it selects the text of the fault.
    """
    if await tasks.end_task(tx, key, status, fault, is_fetched=is_fetched):
        await report_end(tx, key)
        await schedule_packing(tx, jobs, key)
    await begin_next(tx, jobs, key)


async def begin_next(tx: Tx, jobs: JobStore, key: TaskKey) -> None:
    """Make the next task of the namespace due, because this one has ended or is held."""
    job_id = await tasks.find_next_job(tx, key)
    if job_id is not None:
        await jobs.make_due(tx, [job_id])

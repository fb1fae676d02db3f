"""Fail the task of a job that ends without success, in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed_common.db import Tx
from classifeed_common.ids import new_incident
from classifeed_feeds.faults import FeedFault
from classifeed_jobs import FailedJob, JobStore
from classifeed_processor.app.tasks.cancel_task import end_canceled
from classifeed_processor.app.tasks.finish_task import finish_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import tasks

_log = structlog.get_logger(__name__)
_FAILED: Final = ("INTERNAL_FAULT", "The load cannot continue because of an internal fault")
_BY_REASON: Final[Mapping[str, tuple[str, str]]] = {
    "QUARANTINED": ("QUARANTINED", "The process was killed three times while it read the file"),
    "UNKNOWN_FAULTS": ("INTERNAL_FAULT", "The load failed five times because of an internal fault"),
}


async def fail_task(tx: Tx, key: TaskKey, job: FailedJob) -> None:
    """End the task of a failed job, unless it has ended; otherwise its namespace would wait for it for ever.

    If an operator canceled the job, the task ends CANCELED, in any phase; otherwise FAILED. The seller's message has
    an incident id, which is also in the log, with the exception if there was one. An operator's reason for a
    cancellation stays in the job's journal.
    """
    state = await tasks.lock_task(tx, key)
    if state is None or not state.is_open:
        return
    if job.outcome == "canceled":
        await end_canceled(tx, key, state)
        return
    incident = job.incident or new_incident()
    code, what = _BY_REASON.get(job.reason, _FAILED)
    fault = FeedFault(code, f"{what} (incident {incident})")
    _log.error(
        "task.abandoned",
        task=key.name,
        code=code,
        incident=incident,
        job_id=str(job.job_id),
        attempt=job.attempt,
        outcome=job.outcome,
        message=job.message,
    )
    is_fetched = state.feed_loader_result_id is not None
    await finish_task(tx, JobStore(), key, task_pb2.TASK_STATUS_FAILED, fault, is_fetched=is_fetched)

"""Cancel a task, for the owner of the load or for an operator who cancels its job."""

from __future__ import annotations

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed_common.db import Database, Tx
from classifeed_common.enum_names import name_of
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks.finish_task import finish_task
from classifeed_processor.domain.cancellation import canceled, require_cancelable
from classifeed_processor.domain.tasks import TaskKey, TaskState
from classifeed_processor.store import tasks

_log = structlog.get_logger(__name__)


async def cancel_task(database: Database, key: TaskKey, *, timeout_s: float | None) -> None:
    """End a task CANCELED, with its job, if it is queued or still sends offers; the next task may begin.

    Idempotent. The service offers applies batches that were sent before. TaskEnd is never sent, so nothing is removed.
    A run in progress stops at its next step, and holds the namespace until then.

    Raises:
        NotFound: the task does not exist.
        FailedPrecondition: the task is held, has sent TaskEnd, or has ended.
    """
    async with database.transaction(timeout_s=timeout_s) as tx:
        job_id = await tasks.find_job(tx, key)
        if job_id is not None:
            # Lock the job before the task, in the same order as a job's end locks them. No hooks: the check below
            # decides whether the task may end; if not, the transaction is rolled back, and the job continues.
            await JobStore().cancel(tx, job_id, reason="its task was canceled")
        state = await tasks.lock_task(tx, key)
        if state is None:
            raise key.not_found()
        if state.status == task_pb2.TASK_STATUS_CANCELED:
            return
        require_cancelable(key, state)
        await end_canceled(tx, key, state)


async def end_canceled(tx: Tx, key: TaskKey, state: TaskState) -> None:
    """End a locked task CANCELED, whose job ends in the same transaction, and let the next task begin."""
    fault = canceled(state)
    _log.info("task.canceled", task=key.name, phase=name_of(task_pb2.TaskPhase, state.phase), run=state.run)
    await finish_task(tx, JobStore(), key, task_pb2.TASK_STATUS_CANCELED, fault)

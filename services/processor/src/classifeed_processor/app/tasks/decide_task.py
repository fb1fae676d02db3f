"""Decide about a held task."""

from __future__ import annotations

from typing import Final

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT, HoldDecision
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks.create_task import enqueue_run
from classifeed_processor.domain.tasks import TaskKey, TaskState
from classifeed_processor.store import tasks

_log = structlog.get_logger(__name__)
_DONE: Final = {HOLD_DECISION_CONFIRM: "confirmed", HOLD_DECISION_REJECT: "rejected"}


async def decide_task(
    database: Database, jobs: JobStore, key: TaskKey, decision: HoldDecision, *, timeout_s: float | None
) -> None:
    """Store the decision about a held task, and enqueue the job that ends it; the first decision counts.

    Idempotent. The decision and the job, which sends it to the service offers, are stored in one transaction. A newer
    task has either replaced the held one, so that there is nothing to decide, or waits for its end.

    Raises:
        NotFound: the task does not exist.
        FailedPrecondition: the other decision was made before, or the task is not held.
    """
    async with database.transaction(timeout_s=timeout_s) as tx:
        state = await tasks.lock_task(tx, key)
        if state is None:
            raise key.not_found()
        if state.was_decided and state.decision == decision:
            return
        if state.status != task_pb2.TASK_STATUS_HELD:
            raise _refusal(key, state, decision)
        job_id = await enqueue_run(tx, jobs, key)
        await tasks.note_decision(tx, key, decision, job_id)
    _log.info("feeds.load.decided", task=key.name, decision=_DONE[decision], job_id=str(job_id))


def _refusal(key: TaskKey, state: TaskState, decision: HoldDecision) -> FailedPrecondition:
    status = task_pb2.TaskStatus.Name(state.status).removeprefix("TASK_STATUS_")
    wanted = _DONE[decision]
    if state.was_decided:
        return FailedPrecondition(
            "TASK_DECIDED",
            f"{key.name} was {_DONE[state.decision]} before, so it cannot be {wanted}. Load a file that has the offers "
            "as they should be.",
            metadata={"task": key.name, "status": status},
        )
    return FailedPrecondition(
        "TASK_NOT_HELD",
        f"{key.name} is {status}, so there is nothing to be {wanted}: only a task that is HELD waits for a decision. "
        "If a newer load has replaced it, decide about that one.",
        metadata={"task": key.name, "status": status},
    )

"""Cancellation of a load: the tasks that can be canceled, and the messages of canceled ones."""

from __future__ import annotations

from classifeed.feeds.v1 import task_pb2
from classifeed_common.errors import FailedPrecondition
from classifeed_feeds.faults import FeedFault
from classifeed_processor.domain.tasks import TaskKey, TaskState


def canceled(state: TaskState) -> FeedFault:
    """Return the fault of a task that is canceled in this state."""
    if state.kind == task_pb2.TASK_KIND_DELETE:
        if state.phase == task_pb2.TASK_PHASE_SENT:
            return FeedFault(
                "REMOVAL_CANCELED", "Canceled after it was sent completely, so the offers may still be removed"
            )
        return FeedFault("REMOVAL_CANCELED", "Canceled before completion: no offer was removed")
    if state.phase == task_pb2.TASK_PHASE_SENT:
        return FeedFault(
            "LOAD_CANCELED",
            "Canceled after it was sent completely: what it has added and changed stays, and offers that the file "
            "lacks may still be removed",
        )
    if not state.run:
        return FeedFault("LOAD_CANCELED", "Canceled before it began: no offer has changed")
    return FeedFault(
        "LOAD_CANCELED", "Canceled before completion: what it has added and changed stays, and nothing was removed"
    )


def require_cancelable(key: TaskKey, state: TaskState) -> None:
    """Check that the owner of a task may cancel it.

    Raises:
        FailedPrecondition: the task is held, has sent TaskEnd, or has ended.
    """
    metadata = {"task": key.name}
    if state.status == task_pb2.TASK_STATUS_HELD:
        raise FailedPrecondition(
            "TASK_HELD",
            f"{key.name} is held: it waits for a decision, and nothing of what waits is applied. Reject it to keep "
            f"the offers as they are, or confirm it.",
            metadata=metadata,
        )
    if not state.is_open:
        raise FailedPrecondition(
            "TASK_ENDED",
            f"{key.name} is complete, so there is nothing to cancel. To go back to an earlier file, run its task again "
            "(RerunTask).",
            metadata=metadata,
        )
    if state.phase == task_pb2.TASK_PHASE_SENT:
        raise FailedPrecondition(
            "TASK_SENT",
            f"{key.name} has sent all its offers and cannot be canceled: it completes within moments. To go back to "
            "an earlier file, wait for its completion, and run the task of that file again (RerunTask).",
            metadata=metadata,
        )

"""Tasks: their names, and their state for the steps of a load."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import HoldDecision
from classifeed_common.errors import NotFound
from classifeed_domain.namespace_names import parse_numbered

MAX_LOSSES: Final = 3
_FIRST_REQUEST_S: Final = 30.0
_LONGEST_REQUEST_S: Final = 300.0


class Window(IntEnum):
    """State of a run's window, which limits the batches that wait for replies."""

    OPEN = 0
    """Batches are being sent, or all are sent."""
    STALLED = 1
    """The window was full and no reply came: the service offers was sent a check of its replies."""
    REPORTED = 2
    """The reply to the check came: unanswered batches are sent again, and the run continues."""


class TaskKey(NamedTuple):
    """Key of a task."""

    seller_id: str
    namespace: str
    task_id: int

    @property
    def name(self) -> str:
        """The resource name of the task."""
        return f"sellers/{self.seller_id}/feeds/{self.namespace}/tasks/{self.task_id}"

    @property
    def lock_key(self) -> str:
        """The lock key that keeps two tasks of a namespace from running at the same time."""
        return f"feedprocessor:{self.seller_id}:{self.namespace}"

    @property
    def blob_ref(self) -> str:
        """The name of the task's reference to its file."""
        return f"task:{self.seller_id}/{self.namespace}/{self.task_id}"

    @property
    def issues_ref(self) -> str:
        """The name of the task's reference to the file of its issues."""
        return f"issues:{self.seller_id}/{self.namespace}/{self.task_id}"

    @classmethod
    def parse(cls, name: str) -> TaskKey:
        """Return the task of a resource name.

        Raises:
            ValueError: the name is not that of a task.
        """
        return cls(*parse_numbered(name, "tasks"))

    def not_found(self) -> NotFound:
        """Return the error about a missing task, with possible causes."""
        return NotFound(
            "TASK_NOT_FOUND",
            f"There is no {self.name}. It may have been removed for its age, or lost with a database that was "
            "restored: then an upload or removal gets a new task within minutes, and the file of a link one at its "
            "next fetch. List the tasks of the namespace; if none has the file, send it again.",
        )


def has_ended(status: int) -> bool:
    """Return whether a task of this status has ended: it neither runs nor waits for a decision."""
    return status not in (task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD)


def fetch_name(seller_id: str, namespace: str, result_id: int) -> str:
    """Return the resource name of a fetch."""
    return f"sellers/{seller_id}/feeds/{namespace}/fetches/{result_id}"


@dataclass(frozen=True, slots=True)
class TaskState:
    """State of a task, for the job that runs it.

    `window` is a value of `Window`. `was_decided` is True if `decision` is about the held task, and False if it was
    made before the task began.
    """

    kind: task_pb2.TaskKind
    status: task_pb2.TaskStatus
    phase: task_pb2.TaskPhase
    run: int
    incomplete_runs: int
    mode: load_pb2.LoadMode
    disposition: load_pb2.Disposition
    source_sha256: str
    source_bytes: int
    batch_count: int | None
    digest: bytes | None
    feed_version: int
    feed_loader_result_id: int | None
    format_wanted: str
    default_currency: str
    window: int
    asks: int
    since_request_s: float | None
    decision: HoldDecision
    was_decided: bool

    @property
    def next_request_s(self) -> float:
        """Seconds until the awaited reply is requested from the service offers again; 0: now.

        The service offers replies even if nothing has changed. So a missing reply means that a message was lost, or
        that the service does not work now.
        """
        if self.since_request_s is None:
            return 0.0
        return max(
            0.0, min(_FIRST_REQUEST_S * 2.0 ** min(self.asks - 1, 10), _LONGEST_REQUEST_S) - self.since_request_s
        )

    @property
    def has_ended(self) -> bool:
        """Whether the task has ended: it neither runs nor waits for a decision."""
        return has_ended(self.status)

    @property
    def is_open(self) -> bool:
        """Whether the task's job still has work to do."""
        return self.status == task_pb2.TASK_STATUS_IN_PROGRESS

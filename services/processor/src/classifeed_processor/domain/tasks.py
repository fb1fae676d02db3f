"""Tasks: what names them, and what the steps of a load need to know of them."""

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
    """How it stands with the window of a run, the batches that may wait for their replies."""

    OPEN = 0
    """Batches are being sent, or all are sent."""
    STALLED = 1
    """The window was full and no reply came: offers was requested to confirm that it has replied to all."""
    REPORTED = 2
    """Offers has confirmed: batches without a reply are sent again, and the run continues."""


class TaskKey(NamedTuple):
    """One task of one namespace."""

    seller_id: str
    namespace: str
    task_id: int

    @property
    def name(self) -> str:
        """Its resource name."""
        return f"sellers/{self.seller_id}/feeds/{self.namespace}/tasks/{self.task_id}"

    @property
    def lock_key(self) -> str:
        """What excludes two tasks of a namespace from running at a time."""
        return f"feedprocessor:{self.seller_id}:{self.namespace}"

    @property
    def blob_ref(self) -> str:
        """What its file is referred to by."""
        return f"task:{self.seller_id}/{self.namespace}/{self.task_id}"

    @property
    def issues_ref(self) -> str:
        """What the file of its issues is referred to by."""
        return f"issues:{self.seller_id}/{self.namespace}/{self.task_id}"

    @classmethod
    def parse(cls, name: str) -> TaskKey:
        """Return the task of a resource name.

        Raises:
            ValueError: it is not the name of a task.
        """
        return cls(*parse_numbered(name, "tasks"))

    def not_found(self) -> NotFound:
        """Return the error that says that there is no such task, and why that may be."""
        return NotFound(
            "TASK_NOT_FOUND",
            f"There is no {self.name}. It may have been removed for its age, or lost with a database that was "
            "restored: then an upload or removal gets a new task within minutes, and the file of a link one at its "
            "next fetch. "
            "List the tasks of the namespace; where none has the file, send it again.",
        )


def has_ended(status: int) -> bool:
    """Return whether a task of this status neither runs nor waits for a decision."""
    return status not in (task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD)


def fetch_name(seller_id: str, namespace: str, result_id: int) -> str:
    """Return the resource name of a fetch."""
    return f"sellers/{seller_id}/feeds/{namespace}/fetches/{result_id}"


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as the job that runs it finds it; `window` is a value of `Window`.

    `was_decided` distinguishes a decision about a held task from one that was made before it began.
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
        """In how many seconds to request (again) from the owner what is awaited; 0: now.

        The owner replies even if nothing has changed, so a silence means that the request or the reply was
        lost, or that the owner does not work now.
        """
        if self.since_request_s is None:
            return 0.0
        return max(
            0.0, min(_FIRST_REQUEST_S * 2.0 ** min(self.asks - 1, 10), _LONGEST_REQUEST_S) - self.since_request_s
        )

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs or waits for a decision any more."""
        return has_ended(self.status)

    @property
    def is_open(self) -> bool:
        """Whether there is still something for the job to do."""
        return self.status == task_pb2.TASK_STATUS_IN_PROGRESS

"""Tasks: what names them, and what the steps of a load need to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed_common.namespace_names import parse_numbered

MAX_INCOMPLETE_RUNS: Final = 3


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

    @classmethod
    def parse(cls, name: str) -> TaskKey:
        """Returns the task of a resource name.

        Raises:
            ValueError: it is not the name of a task.
        """
        return cls(*parse_numbered(name, "tasks"))


def fetch_name(seller_id: str, namespace: str, result_id: int) -> str:
    """Returns the resource name of a fetch."""
    return f"sellers/{seller_id}/feeds/{namespace}/fetches/{result_id}"


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as the job that runs it finds it."""

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

    @property
    def is_open(self) -> bool:
        """Whether there is still something for the job to do."""
        return self.status == task_pb2.TASK_STATUS_IN_PROGRESS

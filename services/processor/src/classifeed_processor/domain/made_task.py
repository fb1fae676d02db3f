"""An existing task, and the checks whether it serves a new request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed_processor.domain.feed_order import FetchOrder
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.domain.wanted_task import WantedTask

_ALIVE: Final = frozenset({task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD, task_pb2.TASK_STATUS_SUCCEEDED})
# Faults that are not caused by the file: the next attempt may load the same bytes.
_PASSING_FAULTS: Final = frozenset({"SOURCE_MISSING", "RUNS_EXHAUSTED", "INTERNAL_FAULT", "LOAD_CANCELED"})


@dataclass(frozen=True, slots=True)
class MadeTask:
    """An existing task, as read when a new task is requested."""

    key: TaskKey
    kind: task_pb2.TaskKind
    status: task_pb2.TaskStatus
    error_code: str
    mode: load_pb2.LoadMode
    disposition: load_pb2.Disposition
    feed_version: int
    feed_loader_result_id: int | None
    source_sha256: str
    format_wanted: str
    default_currency: str
    parser_version: int

    @property
    def fetch(self) -> FetchOrder | None:
        """The order of its fetch; None for an upload and for a DELETE."""
        if self.feed_loader_result_id is None:
            return None
        return FetchOrder(self.feed_version, self.feed_loader_result_id)

    @property
    def is_waiting(self) -> bool:
        """Whether it has not ended."""
        return self.status == task_pb2.TASK_STATUS_IN_PROGRESS

    def matches(self, wanted: WantedTask) -> bool:
        """Return whether a request with the identity of this task asks for the same load."""
        return (
            (self.key.seller_id, self.key.namespace) == (wanted.seller_id, wanted.namespace)
            and self.feed_version == wanted.feed_version
            and self._is_alike(wanted)
        )

    def holds(self, wanted: WantedTask) -> bool:
        """Return whether this task holds the same bytes, so that another load would replace the pending decision."""
        is_same = self.source_sha256 == wanted.source_sha256
        is_allowed = wanted.allow_removals or wanted.allow_changes
        return self.status == task_pb2.TASK_STATUS_HELD and is_same and not is_allowed

    def has_loaded(self, wanted: WantedTask, parser_version: int) -> bool:
        """Return whether this task, the newest of its namespace, makes a load of a fetched file unnecessary.

        The feed's version is not compared if this task is an upload, which has none.
        """
        return (
            self._is_alike(wanted)
            and self.parser_version == parser_version
            and (self.fetch is None or self.feed_version == wanted.feed_version)
            and (
                self.status in _ALIVE
                or (self.status == task_pb2.TASK_STATUS_FAILED and self.error_code not in _PASSING_FAULTS)
            )
        )

    def _is_alike(self, wanted: WantedTask) -> bool:
        return (
            self.kind, self.source_sha256, self.mode, self.disposition, self.format_wanted, self.default_currency,
        ) == (
            wanted.kind, wanted.source_sha256, wanted.mode, wanted.disposition, wanted.format_wanted,
            wanted.default_currency,
        )  # fmt: skip

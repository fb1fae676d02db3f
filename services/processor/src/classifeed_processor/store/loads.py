"""Statements about loads, for the log and the metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from classifeed.feeds.v1.task_pb2 import FeedStatistics, TaskKind, TaskStatus
from classifeed_common.db import Tx, load_queries
from classifeed_common.enum_names import name_of
from classifeed_processor.domain.tasks import TaskKey

_SQL: Final = load_queries(__package__, "loads.sql")
_READ_LOAD = _SQL["read_load"]
_FIGURES = ("total", "added", "updated", "unchanged", "removed", "skipped", "duplicates", "errors", "warnings")


@dataclass(frozen=True, slots=True)
class Load:
    """State of a task, for reports.

    Attributes:
        waited_s: Seconds until the task began, or ended without a run.
        duration_s: Seconds from its begin to its end; None: it has not had both.
        statistics: Serialized statistics of its run; None: it has had no run.
    """

    kind: TaskKind
    status: TaskStatus
    format: str
    format_wanted: str
    source_bytes: int
    is_uploaded: bool
    is_fetched: bool
    error_code: str
    waited_s: float | None
    duration_s: float | None
    statistics: bytes | None

    @property
    def kind_name(self) -> str:
        """The kind in lower case, without the prefix."""
        return name_of(TaskKind, self.kind)

    @property
    def status_name(self) -> str:
        """The status in lower case, without the prefix."""
        return name_of(TaskStatus, self.status)

    @property
    def source(self) -> str:
        """The origin of the file: fetch, upload or rerun; removal if there is no file."""
        if self.is_fetched:
            return "fetch"
        if self.is_uploaded:
            return "upload"
        return "removal" if self.kind == TaskKind.TASK_KIND_DELETE else "rerun"

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of offers and issues by outcome."""
        found = FeedStatistics.FromString(self.statistics or b"")
        rejected = found.rejected_validation + found.rejected_moderation
        return {**{name: getattr(found, name) for name in _FIGURES}, "rejected": rejected}


async def get_load(tx: Tx, key: TaskKey) -> Load:
    """Return the load of a task, which must exist."""
    async with tx.cursor(row_factory=class_row(Load)) as cursor:
        row = await (await cursor.execute(_READ_LOAD, key._asdict())).fetchone()
    assert row is not None
    return row

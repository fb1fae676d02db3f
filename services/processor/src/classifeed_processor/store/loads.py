"""Statements about loads, for the log and the metrics."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from classifeed.feeds.v1.task_pb2 import FeedStatistics, TaskKind, TaskStatus
from classifeed_common.db import Tx, load_queries
from classifeed_common.enum_names import name_of
from classifeed_processor.domain.tasks import TaskKey

_READ_LOAD = load_queries(__package__, "loads.sql")["read_load"]
_FIGURES = ("total", "added", "updated", "unchanged", "removed", "skipped", "duplicates", "errors", "warnings")


@dataclass(frozen=True, slots=True)
class Load:
    """A task as it stands.

    Attributes:
        waited_s: until it began, or ended without.
        duration_s: from its beginning to its end; None unless it had both.
        statistics: of its run; None: it has had none.
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
        """Its kind in lower case, without the prefix."""
        return name_of(TaskKind, self.kind)

    @property
    def status_name(self) -> str:
        """Its status in lower case, without the prefix."""
        return name_of(TaskStatus, self.status)

    @property
    def source(self) -> str:
        """Where its file comes from."""
        if self.is_fetched:
            return "fetch"
        if self.is_uploaded:
            return "upload"
        return "removal" if self.kind == TaskKind.TASK_KIND_DELETE else "rerun"

    @property
    def counts(self) -> dict[str, int]:
        """The figures of its offers and issues by their names."""
        found = FeedStatistics.FromString(self.statistics or b"")
        rejected = found.rejected_validation + found.rejected_moderation
        return {**{name: getattr(found, name) for name in _FIGURES}, "rejected": rejected}


async def read_load(tx: Tx, key: TaskKey) -> Load:
    """Return the load of a task that is there."""
    async with tx.cursor(row_factory=class_row(Load)) as cursor:
        row = await (await cursor.execute(_READ_LOAD, key._asdict())).fetchone()
    assert row is not None
    return row

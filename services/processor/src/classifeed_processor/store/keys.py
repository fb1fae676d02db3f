"""Rows that begin with the key of a task."""

from __future__ import annotations

from typing import Any

from classifeed_processor.domain.tasks import TaskKey


def split_key(row: Any) -> tuple[TaskKey, dict[str, Any]]:
    """Return the key of a named row, and its other columns by their names."""
    columns: dict[str, Any] = row._asdict()
    return TaskKey(*(columns.pop(name) for name in TaskKey._fields)), columns

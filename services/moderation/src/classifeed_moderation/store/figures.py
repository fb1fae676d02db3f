"""Statistics of the table of decisions."""

from __future__ import annotations

from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named

_SQL: Final = load_queries(__package__, "figures.sql")


async def count_decisions(tx: Tx, *, is_by_day: bool, intervals: int) -> list[Any]:
    """Return figures of applied decisions in the last hours or days, as rows by name."""
    parameters = {
        "interval": "day" if is_by_day else "hour",
        "hours": 24 if is_by_day else 1,
        "intervals": intervals,
    }
    return await fetch_named(tx, _SQL["count_decisions"], parameters)

"""Times from which on events may be missing."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries

SQL: Final = load_queries(__package__, "event_gaps.sql")


class EventGap(NamedTuple):
    """A gap that nobody has closed.

    Attributes:
        gap_id: its number; later ones have higher numbers.
        cause: what lost the events, in words.
    """

    gap_id: int
    cause: str


async def open_gap(tx: Tx, cause: str) -> None:
    """Note that events may be missing. Two at the same time are one."""
    await tx.execute(SQL["open_gap"], {"cause": cause})


async def list_open(tx: Tx) -> list[EventGap]:
    """Return the open gaps, the oldest first."""
    return [EventGap(*row) for row in await (await tx.execute(SQL["list_open"])).fetchall()]


async def close_through(tx: Tx, gap_id: int) -> None:
    """Close a gap and those before it."""
    await tx.execute(SQL["close_through"], {"gap_id": gap_id})


async def delete_closed(tx: Tx, *, before: datetime, limit: int) -> int:
    """Remove gaps that were closed before a time; return how many."""
    return (await tx.execute(SQL["delete_closed"], {"before": before, "limit": limit})).rowcount

"""Times from which on events may be missing."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "event_gaps.sql")


class EventGap(NamedTuple):
    """An open gap.

    Attributes:
        gap_id: number of the gap; later gaps have higher numbers.
        cause: cause of the loss, as text.
    """

    gap_id: int
    cause: str


async def open_gap(tx: Tx, cause: str) -> None:
    """Record that events may be missing. Two gaps at the same time are one."""
    await tx.execute(_SQL["open_gap"], {"cause": cause})


async def list_open(tx: Tx) -> list[EventGap]:
    """Return the open gaps, oldest first."""
    return [EventGap(*row) for row in await (await tx.execute(_SQL["list_open"])).fetchall()]


async def close_through(tx: Tx, gap_id: int) -> None:
    """Close a gap and all earlier ones."""
    await tx.execute(_SQL["close_through"], {"gap_id": gap_id})


async def delete_closed(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete gaps that were closed before a time; return their number."""
    return (await tx.execute(_SQL["delete_closed"], {"before": before, "limit": limit})).rowcount

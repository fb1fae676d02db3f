"""Remove a point."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from classifeed_common.clock import Clock
from classifeed_common.db import Database, Tx
from classifeed_common.errors import NotFound
from classifeed_moderation.app.points.change_point import change_point
from classifeed_moderation.domain.points import Point
from classifeed_moderation.store import closings


async def remove_point(database: Database, clock: Clock, *, point_id: UUID) -> bool:
    """Remove a point with its comments; return False if there was none. Its texts are kept for audit.

    Texts that wait for a verdict are not requested again, and their reviews are closed.

    Raises:
        Aborted: the point changed concurrently at each attempt.
    """

    async def change(tx: Tx, point: Point) -> Point:
        await closings.stop_texts(tx, point_id)
        return replace(point, removed_at=clock.now())

    try:
        await change_point(database, point_id, change)
    except NotFound:
        return False
    return True

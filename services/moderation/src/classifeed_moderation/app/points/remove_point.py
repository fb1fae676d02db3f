"""Remove a point."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from classifeed_common.clock import Clock
from classifeed_common.db import Database, Tx
from classifeed_common.errors import NotFound
from classifeed_moderation.app.points.change_point import change_point
from classifeed_moderation.domain.points import Point


async def remove_point(database: Database, clock: Clock, *, point_id: UUID) -> bool:
    """Remove a point with its comments; return False where it was not there. Its texts are kept for audit.

    Raises:
        Aborted: the point changed again and again meanwhile.
    """

    async def change(_tx: Tx, point: Point) -> Point:
        return replace(point, removed_at=clock.now())

    try:
        await change_point(database, point_id, change)
    except NotFound:
        return False
    return True

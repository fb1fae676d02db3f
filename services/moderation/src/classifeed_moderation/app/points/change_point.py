"""Change a point with optimistic locking: read, change, write, and retry on a concurrent change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from uuid import UUID

from classifeed_common.db import Database, Tx
from classifeed_common.errors import Aborted, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_moderation.domain.points import Point
from classifeed_moderation.store import points

_TRIES: Final = 5
Change: TypeAlias = Callable[[Tx, Point], Awaitable[Point | None]]


class _PointChangedError(Exception):
    """The point changed concurrently: the transaction is rolled back."""


async def change_point(database: Database, point_id: UUID, change: Change) -> Point:
    """Change a point and return it.

    Args:
        database: database of the points.
        point_id: id of the point.
        change: returns the changed point, or None if nothing changes. After a concurrent change it is called again
            with the current point in a new transaction. Its other writes belong to the same transaction.

    Raises:
        NotFound: there is no such point, or it is removed.
        Aborted: the point changed concurrently at each attempt.
    """
    for _ in range(_TRIES):
        try:
            async with database.transaction(timeout_s=remaining_s()) as tx:
                point = await points.find_point(tx, point_id)
                if point is None or point.removed_at is not None:
                    raise point_not_found(point_id)
                changed = await change(tx, point)
                if changed is None:
                    return point
                if not await points.write_point(tx, changed):
                    raise _PointChangedError
                written = await points.find_point(tx, point_id)
                assert written is not None
                return written
        except _PointChangedError:
            continue
    raise Aborted("POINT_CHANGED", f"points/{point_id} changed {_TRIES} times meanwhile. Try again.")


def point_not_found(point_id: UUID) -> NotFound:
    """Return the error for a point that does not exist, or that this caller may not see."""
    return NotFound("POINT_NOT_FOUND", f"There is no points/{point_id}, it is removed, or not approved yet.")

"""ChangePoint: reads a point, changes it, and writes it if nobody has changed it meanwhile; else once more."""

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
    """Somebody was faster: the transaction is rolled back."""


async def change_point(database: Database, point_id: UUID, change: Change) -> Point:
    """Return a point after its change.

    Args:
        change: returns the changed point, or None where nothing changes; called again with the point as it is then, in
            a new transaction, when somebody was faster. What else it writes belongs to the same transaction.

    Raises:
        NotFound: there is no such point, or it is removed.
        Aborted: somebody was faster each time.
    """
    for _ in range(_TRIES):
        try:
            async with database.transaction(timeout_s=remaining_s()) as tx:
                point = await points.read_point(tx, point_id)
                if point is None or point.removed_at is not None:
                    raise point_not_found(point_id)
                changed = await change(tx, point)
                if changed is None:
                    return point
                if not await points.write_point(tx, changed):
                    raise _PointChangedError
                written = await points.read_point(tx, point_id)
                assert written is not None
                return written
        except _PointChangedError:
            continue
    raise Aborted("POINT_CHANGED", f"points/{point_id} changed {_TRIES} times meanwhile. Try again.")


def point_not_found(point_id: UUID) -> NotFound:
    """Return the error for a point that is not there, or not for this caller."""
    return NotFound("POINT_NOT_FOUND", f"There is no points/{point_id}, it is removed, or not approved yet.")

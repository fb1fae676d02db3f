"""The publish mark of points: statements for the pusher, and for publishing them once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from classifeed_common.db import Tx, load_queries

SQL = load_queries(__package__, "publishing.sql")
SELECT_DUE: Final = SQL["select_due"]
ADVANCE: Final = SQL["advance"]


class Overtaken(NamedTuple):
    """A point of which the receiver has a version above the newest here."""

    point_id: UUID
    version: int
    stored_version: int


async def raise_versions(tx: Tx, overtaken: Sequence[Overtaken]) -> int:
    """Give points versions above what the receiver has, unless they changed meanwhile; return how many got one."""
    parameters = {
        "point_ids": [point.point_id for point in overtaken],
        "versions": [point.version for point in overtaken],
        "stored": [point.stored_version for point in overtaken],
    }
    return (await tx.execute(SQL["raise_versions"], parameters, prepare=False)).rowcount


async def reset_slice(tx: Tx, after: UUID, limit: int) -> list[UUID]:
    """Have points published once more, in the order of their ids; return those of this slice."""
    rows = await (await tx.execute(SQL["reset_slice"], {"after": after, "limit": limit})).fetchall()
    return sorted(point_id for (point_id,) in rows)

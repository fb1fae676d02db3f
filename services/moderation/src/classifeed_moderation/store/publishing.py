"""The publish mark of points: statements for the pusher and for republications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from classifeed.documents.v1.receiver_service_pb2 import StoredDocument
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_domain.publishing import Differences, Unequal

_SQL: Final = load_queries(__package__, "publishing.sql")
SELECT_DUE: Final = _SQL["select_due"]
ADVANCE: Final = _SQL["advance"]


# Replaces a key that is not a point id: no point has this id.
_NO_POINT: Final = UUID(int=0)


class Overtaken(NamedTuple):
    """A point whose version at the receiver is above the newest version here."""

    point_id: UUID
    version: int
    stored_version: int


async def raise_versions(tx: Tx, overtaken: Sequence[Overtaken]) -> int:
    """Raise the versions of points above the receiver's, unless they changed meanwhile; return the number raised."""
    parameters = {
        "point_ids": [point.point_id for point in overtaken],
        "versions": [point.version for point in overtaken],
        "stored": [point.stored_version for point in overtaken],
    }
    return (await tx.execute(_SQL["raise_versions"], parameters, prepare=False)).rowcount


async def reset_slice(tx: Tx, after: UUID, limit: int) -> list[UUID]:
    """Reset the marks of the next points in the order of their ids; return the ids of this slice."""
    rows = await (await tx.execute(_SQL["reset_slice"], {"after": after, "limit": limit})).fetchall()
    return sorted(point_id for (point_id,) in rows)


async def find_unequal(tx: Tx, listed: Sequence[StoredDocument]) -> Differences:
    """Return the documents of the registry that differ from their points."""
    parameters = {
        "point_ids": [_point_id(each.pk) for each in listed],
        "versions": [each.version for each in listed],
        "removed": [each.removed for each in listed],
    }
    found = Differences()
    for row in await fetch_named(tx, _SQL["find_unequal"], parameters, prepare=False):
        if row.row_id is None:
            found.lost.append(listed[row.place])
        else:
            found.unequal.append(Unequal(row.row_id, row.version, row.stored_version))
    return found


async def publish_again(tx: Tx, unequal: Sequence[Unequal]) -> int:
    """Make points due that differ from their documents, unless they changed meanwhile; return their number."""
    parameters = {
        "point_ids": [row.row_id for row in unequal],
        "versions": [row.version for row in unequal],
        "stored": [row.stored_version for row in unequal],
    }
    return (await tx.execute(_SQL["publish_again"], parameters, prepare=False)).rowcount


def _point_id(pk: str) -> UUID:
    try:
        point_id = UUID(pk)
    except ValueError:
        return _NO_POINT
    return point_id if str(point_id) == pk else _NO_POINT

"""The tables of points, comments and votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_moderation.domain.points import Author, AuthorRole, Point

_SQL: Final = load_queries(__package__, "points.sql")


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle; if its west is greater than its east, it crosses the antimeridian."""

    south: float
    west: float
    north: float
    east: float


@dataclass(frozen=True, slots=True)
class StoredComment:
    """A comment; its text has the key `key` in `subjects`."""

    index: int
    author: Author
    created_at: datetime
    key: str


async def add_point(
    tx: Tx,
    point_id: UUID,
    author: Author,
    *,
    tags: Sequence[str],
    latitude: float,
    longitude: float,
    is_approved: bool,
) -> bool:
    """Store a new point; return False if its id is taken."""
    parameters = {
        "point_id": point_id,
        "author_id": author.author_id,
        "author_role": author.role,
        "tags": sorted(tags),
        "latitude": latitude,
        "longitude": longitude,
        "is_approved": is_approved,
    }
    return (await tx.execute(_SQL["add_point"], parameters)).rowcount == 1


async def find_point(tx: Tx, point_id: UUID) -> Point | None:
    """Return a point, even if it is removed, or None."""
    rows = await fetch_named(tx, _SQL["find_point"], {"point_id": point_id})
    return _point(rows[0]) if rows else None


async def write_point(tx: Tx, point: Point) -> bool:
    """Write the changeable fields of a point; return False if it has changed since it was read."""
    parameters = {
        "point_id": point.point_id,
        "tags": list(point.tags),
        "votes_for": point.votes_for,
        "votes_against": point.votes_against,
        "comments": point.comments,
        "removed_at": point.removed_at,
        "version": point.version,
    }
    return (await tx.execute(_SQL["write_point"], parameters)).rowcount == 1


async def list_area(
    tx: Tx,
    area: Area,
    *,
    tags: Sequence[str],
    any_status: bool,
    shown_after_s: float | None,
    after: tuple[datetime | str, UUID],
    limit: int,
) -> list[Point]:
    """Return points of an area after a place, oldest first.

    Args:
        tx: transaction of the read.
        area: area of the points.
        tags: tags of which a point must have one; empty: any point.
        any_status: whether points of any status are returned.
        shown_after_s: age in seconds from which points without a verdict are returned; None: never.
        after: time and id of the last point of the page before.
        limit: maximum number of points.
    """
    parameters = {
        "south": area.south,
        "west": area.west,
        "north": area.north,
        "east": area.east,
        "tags": list(tags),
        "any_status": any_status,
        "shown_after_s": shown_after_s,
        "after_time": after[0],
        "after_id": after[1],
        "limit": limit,
    }
    return [_point(row) for row in await fetch_named(tx, _SQL["list_area"], parameters)]


async def find_vote(tx: Tx, point_id: UUID, author_id: str) -> bool | None:
    """Return an author's vote on a point, or None."""
    parameters = {"point_id": point_id, "author_id": author_id}
    row = await (await tx.execute(_SQL["find_vote"], parameters)).fetchone()
    return row[0] if row else None


async def put_vote(tx: Tx, point_id: UUID, author_id: str, *, is_for: bool) -> None:
    """Store an author's vote on a point."""
    await tx.execute(_SQL["put_vote"], {"point_id": point_id, "author_id": author_id, "is_for": is_for})


async def add_comment(tx: Tx, point_id: UUID, index: int, author: Author, *, request_id: str) -> None:
    """Store a comment."""
    parameters = {
        "point_id": point_id,
        "idx": index,
        "author_id": author.author_id,
        "author_role": author.role,
        "request_id": request_id,
    }
    await tx.execute(_SQL["add_comment"], parameters)


async def find_comment(tx: Tx, point_id: UUID, request_id: str) -> int | None:
    """Return the index of the comment that a request made, or None."""
    parameters = {"point_id": point_id, "request_id": request_id}
    row = await (await tx.execute(_SQL["find_comment"], parameters)).fetchone()
    return row[0] if row else None


async def list_comments(
    tx: Tx, point_id: UUID, *, any_status: bool, shown_after_s: float | None, limit: int
) -> list[StoredComment]:
    """Return comments of a point by index."""
    parameters = {
        "point_id": point_id,
        "any_status": any_status,
        "shown_after_s": shown_after_s,
        "limit": limit,
    }
    rows = await fetch_named(tx, _SQL["list_comments"], parameters)
    return [
        StoredComment(row.idx, Author(row.author_id, AuthorRole(row.author_role)), row.created_at, row.subject_key)
        for row in rows
    ]


def _point(row: Any) -> Point:
    return Point(
        point_id=row.point_id,
        author=Author(row.author_id, AuthorRole(row.author_role)),
        tags=tuple(row.tags),
        latitude=row.latitude,
        longitude=row.longitude,
        votes_for=row.votes_for,
        votes_against=row.votes_against,
        comments=row.comments,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        removed_at=row.removed_at,
    )


async def count_without_texts(tx: Tx, limit: int) -> tuple[int, str]:
    """Return how many points and comments have no text, and one of these points; counts up to `limit` of each."""
    row = await (await tx.execute(_SQL["count_without_texts"], {"limit": limit})).fetchone()
    return (int(row[0]), row[1] or "") if row else (0, "")

"""Vote on a point: an author has one vote, and may change it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from classifeed_common.db import Database, Tx
from classifeed_moderation.app.points.change_point import change_point, point_not_found
from classifeed_moderation.domain.points import Point
from classifeed_moderation.domain.subjects import Status, point_key
from classifeed_moderation.store import points, subjects


async def vote_point(database: Database, *, point_id: UUID, author_id: str, is_for: bool) -> Point:
    """Count a vote, and return the point; a repeated vote changes nothing.

    Raises:
        NotFound: there is no such point, it is removed, or it is not approved.
        Aborted: the point changed concurrently at each attempt.
    """

    async def change(tx: Tx, point: Point) -> Point | None:
        subject = await subjects.find_subject(tx, point_key(point_id))
        if subject is None or subject.status is Status.DISAPPROVED:
            raise point_not_found(point_id)
        before = await points.find_vote(tx, point_id, author_id)
        if before is is_for:
            return None
        await points.put_vote(tx, point_id, author_id, is_for=is_for)
        return replace(
            point,
            votes_for=point.votes_for + is_for - (before is True),
            votes_against=point.votes_against + (not is_for) - (before is False),
        )

    return await change_point(database, point_id, change)

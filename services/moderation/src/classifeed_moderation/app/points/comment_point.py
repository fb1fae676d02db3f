"""Comment on a point: the comment is stored and returned at once, and its text is judged later."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from classifeed_common.db import Database, Tx
from classifeed_moderation.app.judging.store_texts import StoreTexts
from classifeed_moderation.app.points.change_point import change_point
from classifeed_moderation.domain.points import Author, Point
from classifeed_moderation.domain.subjects import Kind, Status, comment_key, point_key
from classifeed_moderation.store import points, subjects
from classifeed_moderation.store.subjects import NewSubject


async def comment_point(
    database: Database, store_texts: StoreTexts, *, point_id: UUID, author: Author, text: str, request_id: str
) -> int:
    """Store a comment in the regions of its point, and return its index; a repeated request returns the same index.

    Raises:
        NotFound: there is no such point, or it is removed.
        Aborted: the point changed concurrently at each attempt.
    """
    index = 0

    async def change(tx: Tx, point: Point) -> Point | None:
        nonlocal index
        known = await points.find_comment(tx, point_id, request_id)
        if known is not None:
            index = known
            return None
        index = point.comments
        # A restored point has lost comments whose texts still exist: verdicts about them may still arrive.
        while await subjects.find_subject(tx, comment_key(point_id, index)) is not None:
            index += 1
        owner = await subjects.find_subject(tx, point_key(point_id))
        regions = owner.region_ids if owner is not None else ()
        await points.add_comment(tx, point_id, index, author, request_id=request_id)
        await store_texts(tx, [NewSubject(comment_key(point_id, index), Kind.COMMENT, text, regions, Status.PENDING)])
        return replace(point, comments=index + 1)

    await change_point(database, point_id, change)
    return index

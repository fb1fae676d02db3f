"""Create a point: it is stored and returned at once, and its text is judged later."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from classifeed_common.db import Database
from classifeed_common.errors import AlreadyExists
from classifeed_common.rpc.call import remaining_s
from classifeed_moderation.app.judging.store_texts import StoreTexts
from classifeed_moderation.domain.points import Author, exemption_of
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.domain.subjects import Kind, Status, point_key
from classifeed_moderation.store import points, subjects
from classifeed_moderation.store.subjects import NewSubject


async def create_point(
    database: Database,
    store_texts: StoreTexts,
    rules: RuleSet,
    *,
    point_id: UUID,
    author: Author,
    tags: Sequence[str],
    description: str,
    latitude: float,
    longitude: float,
    region_ids: Sequence[int],
) -> None:
    """Store a point as PENDING or approved. A repeated request changes nothing, unless a restore has lost its text.

    Raises:
        AlreadyExists: another point has this id.
    """
    exemption = exemption_of(author.role, description, tags, rules)
    status = Status.APPROVED if exemption else Status.PENDING
    text = NewSubject(point_key(point_id), Kind.POINT, description, tuple(region_ids), status)
    async with database.transaction(timeout_s=remaining_s()) as tx:
        if not await points.add_point(
            tx,
            point_id,
            author,
            tags=tags,
            latitude=latitude,
            longitude=longitude,
            is_approved=status is Status.APPROVED,
        ):
            known, known_text = await points.find_point(tx, point_id), await subjects.find_subject(tx, text.key)
            text_before = known_text.text if known_text is not None else description
            if known is None or (known.author, text_before) != (author, description):
                raise AlreadyExists("POINT_EXISTS", f"points/{point_id} exists with other content. Choose another id.")
            if known_text is not None:
                return
        await store_texts(tx, [text], exemption=exemption)

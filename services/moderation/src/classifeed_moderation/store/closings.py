"""The table of keys whose reviews the verdict service must close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "closings.sql")


class DueClosing(NamedTuple):
    """A key whose reviews are no longer needed, and the time when that was recorded."""

    sent_key: str
    noted_at: datetime


async def stop_texts(tx: Tx, point_id: UUID) -> None:
    """Stop requests of a point's waiting texts, including its comments', and schedule their reviews for closing."""
    await tx.execute(_SQL["stop_texts"], {"point_id": str(point_id)})


async def remove_offer_texts(tx: Tx, removed: Mapping[str, int]) -> None:
    """Delete waiting texts of removed offers, and schedule their reviews for closing.

    Args:
        tx: transaction of the removal.
        removed: content version of each removal, by the key of the text. Texts of a higher version stay.
    """
    keys = sorted(removed)
    parameters = {"subject_keys": keys, "content_versions": [removed[key] for key in keys]}
    await tx.execute(_SQL["remove_offer_texts"], parameters)


async def claim_closings(tx: Tx, *, limit: int, retry_s: float) -> tuple[int, list[DueClosing]]:
    """Claim due keys; return their number, and the keys whose reviews no equal text needs.

    Other processes skip them for `retry_s`.
    """
    rows = await (await tx.execute(_SQL["claim_closings"], {"limit": limit, "retry_s": retry_s})).fetchall()
    return len(rows), [DueClosing(sent_key, noted_at) for sent_key, noted_at, is_shared in rows if not is_shared]


async def put_off_closings(tx: Tx, closed: Sequence[DueClosing], *, repeat_s: float) -> None:
    """Schedule closed keys to be closed again later: after as long as their age, and at least `repeat_s`."""
    parameters = {
        "sent_keys": [each.sent_key for each in closed],
        "noted_at": [each.noted_at for each in closed],
        "repeat_s": repeat_s,
    }
    await tx.execute(_SQL["put_off_closings"], parameters)

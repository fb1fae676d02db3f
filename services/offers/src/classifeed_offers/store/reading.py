"""Reads of offers."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, fetch_as, load_queries
from classifeed_offers.domain.offers import Namespace, Status

_SQL: Final = load_queries(__package__, "reading.sql")
_GET_OFFER = _SQL["get_offer"]
_LIST_OFFERS = _SQL["list_offers"]


class OfferRow(NamedTuple):
    """A stored offer; its namespace is that of the request. `waiting_…` describe a change that waits."""

    external_id: str
    status: str
    origin: str
    content: bytes
    published_content: bytes | None
    last_task_id: int
    version: int
    published_version: int
    moderation: str
    created_at: datetime
    updated_at: datetime
    last_change: str
    ban: bytes | None
    text_requested_at: datetime | None
    pictures: bytes | None
    waiting_task_id: int | None = None
    waiting_content: bytes | None = None


async def find_offer(tx: Tx, namespace: Namespace, external_id: str) -> OfferRow | None:
    """Return an offer, even if it is removed; None if the namespace never had it."""
    parameters = {"seller": namespace.seller_id, "namespace": namespace.namespace, "external_id": external_id}
    rows = await fetch_as(tx, OfferRow, _GET_OFFER, parameters)
    return rows[0] if rows else None


async def list_offers(tx: Tx, namespace: Namespace, *, after: str, status: Status | None, limit: int) -> list[OfferRow]:
    """Return up to `limit` offers after `after`, by external id; without `status`, all except removed ones."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "after": after,
        "status": status.value if status is not None else None,
        "limit": limit,
    }
    return await fetch_as(tx, OfferRow, _LIST_OFFERS, parameters)


async def next_pictures(tx: Tx, *, after: int, limit: int) -> list[tuple[int, bytes | None]]:
    """Return the next `limit` offers above an id, each with its PictureRecords; None: it has none, or is removed."""
    rows = await (await tx.execute(_SQL["next_pictures"], {"after": after, "limit": limit})).fetchall()
    return [(row[0], row[1]) for row in rows]


async def current_time(tx: Tx) -> datetime:
    """Return the time of the database."""
    row = await (await tx.execute(_SQL["current_time"])).fetchone()
    assert row is not None
    time: datetime = row[0]
    return time

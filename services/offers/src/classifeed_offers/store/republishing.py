"""Republications: the open ones, and the publish marks that they reset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "republishing.sql")


class OfferKey(NamedTuple):
    """Key of an offer, in the order of the table's primary key."""

    seller_id: str
    namespace: str
    external_id: str


class Scope(NamedTuple):
    """Scope of a republication: all offers, those of a seller, or those of one of its namespaces."""

    seller_id: str | None = None
    namespace: str | None = None

    @property
    def begin(self) -> OfferKey:
        """The key before the first offer of the scope: no external id is empty."""
        return OfferKey(self.seller_id or "", self.namespace or "", "")


@dataclass(frozen=True, slots=True)
class Republication:
    """A republication; `offers` marks were reset so far, and all of them at `marked_at`."""

    republication_id: int
    reason: str
    scope: Scope
    requested_at: datetime
    offers: int
    marked_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ResetSlice:
    """Outcome of a slice: its last key (None: it was the last slice), and the locked offers that it skipped."""

    last: OfferKey | None
    offers: int
    left_out: Sequence[int]


async def insert_request(tx: Tx, reason: str, scope: Scope, request_id: str | None) -> int | None:
    """Record a request; return its number, or None if a request with this id was recorded before.

    Waits for transactions that are inserting offers; later inserts wait for this transaction.
    """
    await tx.execute(_SQL["await_inserts"])
    parameters = {
        "reason": reason,
        "seller": scope.seller_id,
        "namespace": scope.namespace,
        "request_id": request_id,
    }
    row = await (await tx.execute(_SQL["request"], parameters)).fetchone()
    return None if row is None else int(row[0])


async def reset_slice(tx: Tx, scope: Scope, after: OfferKey, limit: int) -> ResetSlice:
    """Reset the marks of the next `limit` offers by key to 0, except locked offers and offers outside the scope."""
    parameters = {
        **after._asdict(),
        "only_seller": scope.seller_id,
        "only_namespace": scope.namespace,
        "limit": limit,
    }
    row = await (await tx.execute(_SQL["reset_slice"], parameters)).fetchone()
    if row is None:
        return ResetSlice(None, 0, ())
    *key, has_more, offers, left_out = row
    return ResetSlice(OfferKey(*key) if has_more else None, offers, left_out)


async def reset_offer(tx: Tx, offer_id: int) -> None:
    """Reset the mark of an offer to 0; waits for its lock."""
    await tx.execute(_SQL["reset_offer"], {"offer_id": offer_id})


async def count_offers(tx: Tx, republication_id: int, offers: int) -> None:
    """Add to the number of offers whose marks were reset."""
    await tx.execute(_SQL["count_offers"], {"id": republication_id, "offers": offers})


async def note_marked(tx: Tx, republication_id: int) -> None:
    """Record that all marks are reset."""
    await tx.execute(_SQL["note_marked"], {"id": republication_id})


async def list_open(tx: Tx) -> list[Republication]:
    """Return the open republications, the oldest first."""
    rows = await (await tx.execute(_SQL["select_open"])).fetchall()
    return [Republication(row[0], row[1], Scope(*row[2:4]), *row[4:]) for row in rows]


async def finish_pushed(tx: Tx) -> list[tuple[int, int]]:
    """Close the republications that are pushed; return the number and the offers of each."""
    return [(number, offers) for number, offers in await (await tx.execute(_SQL["finish_pushed"])).fetchall()]


async def forget_old(tx: Tx) -> None:
    """Delete republications that ended long ago."""
    await tx.execute(_SQL["forget_old"])

"""Full publications anew: which are under way, and the marks that they set back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from classifeed_common.db import Tx, load_queries

SQL = load_queries(__package__, "republishing.sql")


class OfferKey(NamedTuple):
    """Where an offer stands in the order of the keys."""

    seller_id: str
    namespace: str
    external_id: str


class Scope(NamedTuple):
    """Whose offers: all, those of a seller, or those of one of its namespaces."""

    seller_id: str | None = None
    namespace: str | None = None

    @property
    def begin(self) -> OfferKey:
        """The key before the first offer of the scope: no external id is empty."""
        return OfferKey(self.seller_id or "", self.namespace or "", "")


@dataclass(frozen=True, slots=True)
class Republication:
    """A full publication anew; `offers` had their marks set back so far, all of them at `marked_at`."""

    republication_id: int
    reason: str
    scope: Scope
    requested_at: datetime
    offers: int
    marked_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ResetSlice:
    """What a slice did: where it ended (None: it was the last one), and whom it left out as they were locked."""

    last: OfferKey | None
    offers: int
    left_out: Sequence[int]


async def insert_request(tx: Tx, reason: str, scope: Scope, request_id: str | None) -> int | None:
    """Note a request; return its number, None when a request with this id was noted before.

    Waits for transactions that are inserting offers; those that would begin to wait until this one has ended.
    """
    await tx.execute(SQL["await_inserts"])
    parameters = {
        "reason": reason,
        "seller": scope.seller_id,
        "namespace": scope.namespace,
        "request_id": request_id,
    }
    row = await (await tx.execute(SQL["request"], parameters)).fetchone()
    return None if row is None else int(row[0])


async def reset_slice(tx: Tx, scope: Scope, after: OfferKey, limit: int) -> ResetSlice:
    """Set the marks of the offers in the next `limit` keys to 0 where they are of the scope and nobody holds them."""
    parameters = {
        **after._asdict(),
        "only_seller": scope.seller_id,
        "only_namespace": scope.namespace,
        "limit": limit,
    }
    row = await (await tx.execute(SQL["reset_slice"], parameters)).fetchone()
    if row is None:
        return ResetSlice(None, 0, ())
    *key, has_more, offers, left_out = row
    return ResetSlice(OfferKey(*key) if has_more else None, offers, left_out)


async def reset_offer(tx: Tx, offer_id: int) -> None:
    """Set the mark of an offer to 0; waits for whoever holds it."""
    await tx.execute(SQL["reset_offer"], {"offer_id": offer_id})


async def count_offers(tx: Tx, republication_id: int, offers: int) -> None:
    """Add to the offers whose marks were set back."""
    await tx.execute(SQL["count_offers"], {"id": republication_id, "offers": offers})


async def note_marked(tx: Tx, republication_id: int) -> None:
    """Note that all marks are set back."""
    await tx.execute(SQL["note_marked"], {"id": republication_id})


async def select_open(tx: Tx) -> list[Republication]:
    """Return the republications under way, the oldest first."""
    rows = await (await tx.execute(SQL["select_open"])).fetchall()
    return [Republication(row[0], row[1], Scope(*row[2:4]), *row[4:]) for row in rows]


async def finish_pushed(tx: Tx) -> list[tuple[int, int]]:
    """Note which republications are over; return the number of each and how many offers it had."""
    return [(number, offers) for number, offers in await (await tx.execute(SQL["finish_pushed"])).fetchall()]


async def forget_old(tx: Tx) -> None:
    """Remove republications that ended long ago."""
    await tx.execute(SQL["forget_old"])

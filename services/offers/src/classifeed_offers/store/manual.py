"""Offers that are kept by hand."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.offers import Namespace, OfferState
from classifeed_offers.store import applying, reading
from classifeed_offers.store.reading import OfferRow

_SQL: Final = load_queries(__package__, "manual.sql")


class StoredOffer(NamedTuple):
    """An offer for a change: `state` with content and pictures, and `row` with its version."""

    state: OfferState
    row: OfferRow


async def find_locked(tx: Tx, namespace: Namespace, external_id: str) -> StoredOffer | None:
    """Return an offer, even if it is removed; None if the namespace never had it.

    The namespace stays locked until the transaction ends, so no load changes the offer meanwhile.
    """
    if not await applying.lock_heads(tx, {namespace}, create=False):
        return None
    states = await applying.list_offers(tx, namespace, [external_id], with_content=True)
    row = await reading.find_offer(tx, namespace, external_id)
    return None if row is None else StoredOffer(states[external_id], row)


async def remove(tx: Tx, state: OfferState) -> None:
    """Remove an offer that is kept by hand. The caller holds the head of its namespace."""
    await tx.execute(_SQL["remove_manual_offer"], {"offer_id": state.offer_id})

"""Effect of a change on an offer's price and availability, for the guard against wrong prices."""

from __future__ import annotations

from typing import NamedTuple

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.offers import OfferState, Origin, Status


class Shift(NamedTuple):
    """Effect of a change on an offer.

    Attributes:
        price_ratio: new price divided by the old one; 0: the price is removed; None: the price stays, or there is no
            earlier price in the same currency.
        becomes_unavailable: whether the offer was available and no longer is.
    """

    price_ratio: float | None
    becomes_unavailable: bool

    def moves_price(self, factor: float) -> bool:
        """Return whether the price changes by `factor` or more, up or down; always False if `factor` is 0."""
        ratio = self.price_ratio
        return bool(factor) and ratio is not None and (ratio >= factor or ratio * factor <= 1)


class Changes(NamedTuple):
    """Changes of a whole load, as far as the guard checks them.

    Attributes:
        waiting: number of changes that were set aside.
        moved: waiting changes that move a price far.
        prices: all price changes of the load, made or set aside.
        turned_unavailable: offers that the load makes unavailable, if it has no available offer; otherwise 0.
    """

    waiting: int = 0
    moved: int = 0
    prices: int = 0
    turned_unavailable: int = 0


def is_guarded(state: OfferState) -> bool:
    """Return whether the guard protects an offer: the feed keeps it, and it is ACTIVE or PENDING."""
    return state.origin is Origin.FEED and (state.status is Status.ACTIVE or state.status is Status.PENDING)


def shift_between(before: bytes, after: OfferContent) -> Shift:
    """Return the effect of new content on an offer with the stored content `before`."""
    old = OfferContent.FromString(before)
    return Shift(_price_ratio(old, after), old.available and not after.available)


def _price_ratio(old: OfferContent, new: OfferContent) -> float | None:
    before, after = old.price, new.price
    if not before.amount_micros or before.amount_micros == after.amount_micros:
        return None
    if after.amount_micros and after.currency_code != before.currency_code:
        return None
    return after.amount_micros / before.amount_micros

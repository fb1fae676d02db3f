"""What a change does to an offer's price and availability: what the guard against wrong prices checks."""

from __future__ import annotations

from typing import NamedTuple

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.offers import OfferState, Origin, Status


class Shift(NamedTuple):
    """How a change moves an offer.

    Attributes:
        price_ratio: the new price by the old one, 0 where the price goes away; None where it stays, or where there is
            nothing to compare: no price before, or one in another currency.
        turns_unavailable: whether the offer was available and is not any more.
    """

    price_ratio: float | None
    becomes_unavailable: bool

    def moves_price(self, factor: float) -> bool:
        """Return whether the price moves by `factor` or more, up or down; never where `factor` is 0."""
        ratio = self.price_ratio
        return bool(factor) and ratio is not None and (ratio >= factor or ratio * factor <= 1)


class Changes(NamedTuple):
    """What a whole load changes, as far as the guard checks it.

    Attributes:
        waiting: changes that were set aside.
        moved: those of them that move a price far.
        prices: all changed prices of the load, made or set aside.
        turned_unavailable: offers that were available and would not be any more, if the load has no other; else 0.
    """

    waiting: int = 0
    moved: int = 0
    prices: int = 0
    turned_unavailable: int = 0


def is_guarded(state: OfferState) -> bool:
    """Return whether an offer is one whose price and availability buyers see by the feed's word."""
    return state.origin is Origin.FEED and (state.status is Status.ACTIVE or state.status is Status.PENDING)


def shift_between(before: bytes, after: OfferContent) -> Shift:
    """Return how the content of an offer moves from what is stored of it."""
    old = OfferContent.FromString(before)
    return Shift(_price_ratio(old, after), old.available and not after.available)


def _price_ratio(old: OfferContent, new: OfferContent) -> float | None:
    before, after = old.price, new.price
    if not before.amount_micros or before.amount_micros == after.amount_micros:
        return None
    if after.amount_micros and after.currency_code != before.currency_code:
        return None
    return after.amount_micros / before.amount_micros

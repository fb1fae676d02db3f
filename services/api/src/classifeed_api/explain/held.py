"""Words for the change that a held load would make."""

from __future__ import annotations

from classifeed.feeds.v1.load_pb2 import HOLD_REASON_PRICES, HOLD_REASON_UNAVAILABLE, LoadHold
from classifeed_api.explain import sentences


def describe_hold(hold: LoadHold) -> str:
    """Return why a load is held, in words that fit after “it would”."""
    parts = []
    if hold.removals:
        parts.append(sentences.HOLD_REMOVALS.format(removals=hold.removals, offers=hold.offers))
    if HOLD_REASON_PRICES in hold.reasons:
        parts.append(sentences.HOLD_PRICES.format(moved=hold.moved_prices, changed=hold.changed_prices))
    if HOLD_REASON_UNAVAILABLE in hold.reasons:
        parts.append(sentences.HOLD_UNAVAILABLE)
    return " and ".join(parts) or sentences.HOLD_CHANGES

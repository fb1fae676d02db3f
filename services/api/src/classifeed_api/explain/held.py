"""What a held load would do, in words."""

from __future__ import annotations

from classifeed.feeds.v1.load_pb2 import HOLD_REASON_PRICES, HOLD_REASON_UNAVAILABLE, LoadHold


def describe_hold(hold: LoadHold) -> str:
    """Return in words that fit after “it would” what a load is held for."""
    parts = []
    if hold.removals:
        parts.append(f"remove {hold.removals:,} of {hold.offers:,} offers")
    if HOLD_REASON_PRICES in hold.reasons:
        parts.append(f"move {hold.moved_prices:,} of {hold.changed_prices:,} changed prices far")
    if HOLD_REASON_UNAVAILABLE in hold.reasons:
        parts.append("leave no offer available")
    return " and ".join(parts) or "change too much"

"""Refreshes of a held picture: the time of the next one, and which changes are reported."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import PictureInfo

_LONGEST_FACTOR: Final = 4
_SPREAD: Final = 0.5
_DIRECTIVE: Final = re.compile(r'\s*([a-z-]+)\s*(?:=\s*"?([0-9]+)"?)?\s*', re.IGNORECASE)
_HIGHEST_S: Final = 1 << 31
"""Value for higher numbers (RFC 9111, section 1.2.2)."""


def refresh_time(url_hash: bytes, now: datetime, *, after: timedelta, fresh_for: timedelta | None) -> datetime:
    """Return the time of the next refresh of a picture that is current now.

    Hosts often send short lifetimes for everything, so a promise shorter than `after` is ignored; a longer one counts
    up to four times `after`. Up to half of the time is added, by the hash, so that pictures downloaded together are not
    refreshed together.

    Args:
        url_hash: hash of its URL.
        now: time when it was current.
        after: minimum time.
        fresh_for: time for which its host promises no change; None: no promise.
    """
    wait = min(max(fresh_for or after, after), after * _LONGEST_FACTOR)
    share = int.from_bytes(url_hash[-4:], "big") / (1 << 32)
    return now + wait * (1 + _SPREAD * share)


def promised_s(cache_control: str) -> int:
    """Return the seconds for which a `Cache-Control` header promises no change; 0 if it does not.

    Directives for shared caches come first (RFC 9111, section 4.2.1).
    """
    found: dict[str, str | None] = {}
    for part in cache_control.split(","):
        if (directive := _DIRECTIVE.fullmatch(part)) is not None:
            found.setdefault(directive[1].lower(), directive[2])
    if "no-store" in found or "no-cache" in found:
        return 0
    return min(int(found.get("s-maxage") or found.get("max-age") or 0), _HIGHEST_S)


def is_other(one: PictureInfo, other: PictureInfo) -> bool:
    """Return whether two pictures have different addresses, that is, different bytes."""
    return (one.namespace, one.group_id, one.name) != (other.namespace, other.group_id, other.name)


def is_news(held: PictureInfo, info: PictureInfo) -> bool:
    """Return whether recipients of one picture must get the other: its address or its sizes differ."""
    return is_other(held, info) or list(held.sizes) != list(info.sizes)


def renewed(held: PictureInfo, unchanged: Unchanged) -> PictureInfo:
    """Return a held picture with the validators of a response that confirms it."""
    info = PictureInfo()
    info.CopyFrom(held)
    info.source_etag, info.source_last_modified = unchanged.source_etag, unchanged.source_last_modified
    return info

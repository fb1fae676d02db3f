"""When a held picture is requested of its host again, and what counts as a change of it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from classifeed.pictures.v1.picture_pb2 import PictureInfo

_LONGEST_FACTOR: Final = 4
_SPREAD: Final = 0.5
_DIRECTIVE: Final = re.compile(r'\s*([a-z-]+)\s*(?:=\s*"?([0-9]+)"?)?\s*', re.IGNORECASE)
_HIGHEST_S: Final = 1 << 31
"""What RFC 9111, section 1.2.2 takes a number for that is higher."""


def refresh_time(url_hash: bytes, now: datetime, *, after: timedelta, fresh_for: timedelta | None) -> datetime:
    """Return when a picture is refreshed that is known to be current now.

    Hosts often send short lifetimes for all that they have, so that a shorter one than `after` says little of a
    picture; a longer one is believed, up to four times `after`. Up to half of that is added, by the hash: pictures that
    came together are not refreshed together.

    Args:
        url_hash: of its URL.
        now: when it was current.
        after: the shortest time.
        fresh_for: how long its host promises that it stays the same; None: it promises nothing.
    """
    wait = min(max(fresh_for or after, after), after * _LONGEST_FACTOR)
    share = int.from_bytes(url_hash[-4:], "big") / (1 << 32)
    return now + wait * (1 + _SPREAD * share)


def promised_s(cache_control: str) -> int:
    """Return for how many seconds a `Cache-Control` of a response promises that nothing changes; 0: it does not.

    What it says to shared caches comes first (RFC 9111, section 4.2.1).
    """
    found: dict[str, str | None] = {}
    for part in cache_control.split(","):
        if (directive := _DIRECTIVE.fullmatch(part)) is not None:
            found.setdefault(directive[1].lower(), directive[2])
    if "no-store" in found or "no-cache" in found:
        return 0
    return min(int(found.get("s-maxage") or found.get("max-age") or 0), _HIGHEST_S)


def is_other(one: PictureInfo, other: PictureInfo) -> bool:
    """Return whether two pictures have different addresses: their bytes differ."""
    return (one.namespace, one.group_id, one.name) != (other.namespace, other.group_id, other.name)


def is_news(held: PictureInfo, info: PictureInfo) -> bool:
    """Return whether whoever knows one picture has to learn of the other: of its address, or of its sizes."""
    return is_other(held, info) or list(held.sizes) != list(info.sizes)

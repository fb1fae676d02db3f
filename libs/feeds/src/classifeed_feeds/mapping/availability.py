"""Parse the availability of an offer, with the flags and words of all formats."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_AVAILABLE: Final = frozenset(
    {"true", "yes", "y", "on", "да", "есть", "instock", "available", "limitedavailability", "onlineonly", "вналичии"}
)
_UNAVAILABLE: Final = frozenset(
    {"false", "no", "n", "off", "нет", "outofstock", "soldout", "discontinued", "unavailable", "notavailable",
     "pending", "нетвналичии"}
)  # fmt: skip
# Offers that can be ordered but are not available now, like available="false" in YML.
_LATER: Final = frozenset({"preorder", "backorder", "availablefororder", "presale", "madetoorder", "подзаказ"})
_MOST_CHARS: Final = 64
_SIGNS: Final = {"1": True, "0": False, "+": True, "-": False}
_PIECES: Final = re.compile(r"[0-9]{1,12}")


class Availability(NamedTuple):
    """Availability of an offer, parsed from a text.

    Attributes:
        now: Whether the offer is available now.
        later: Whether it can be ordered although it is not available now.
        pieces: Number of pieces; -1: the text is not a number of pieces.
    """

    now: bool
    later: bool = False
    pieces: int = -1


def read_availability(text: str) -> Availability | None:
    """Parse a flag, a word in any case and with any separators, or a number of pieces.

    0 and 1 are flags. Returns None for an unknown text.
    """
    return _read(text) if len(text) <= _MOST_CHARS else None


@lru_cache(maxsize=256)
def _read(text: str) -> Availability | None:
    text = text.strip()
    if (flag := _SIGNS.get(text)) is not None:
        return Availability(flag)
    if _PIECES.fullmatch(text):
        return Availability(int(text) > 0, pieces=int(text))
    word = "".join(char for char in text.rpartition("/")[2].lower() if char.isalpha())
    if word in _AVAILABLE:
        return Availability(now=True)
    if word in _UNAVAILABLE or word in _LATER:
        return Availability(now=False, later=word in _LATER)
    return None

"""Reading whether an offer can be had, from the flags and words of all formats."""

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
# They can be ordered and not be had now, as what YML calls available="false".
_LATER: Final = frozenset({"preorder", "backorder", "availablefororder", "presale", "madetoorder", "подзаказ"})
_MOST_CHARS: Final = 64
_SIGNS: Final = {"1": True, "0": False, "+": True, "-": False}
_PIECES: Final = re.compile(r"[0-9]{1,12}")


class Availability(NamedTuple):
    """What a text says of whether an offer can be had.

    Attributes:
        now: Whether it can be had now.
        later: Whether it can be ordered all the same.
        pieces: How many there are, where the text is a number of pieces; -1 where it is none.
    """

    now: bool
    later: bool = False
    pieces: int = -1


def read_availability(text: str) -> Availability | None:
    """Return what a flag, a word in any case and with any separators, or a number of pieces says.

    None: it says nothing known. 0 and 1 are flags.
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

"""Reading single values of an offer: amounts, links, flags, coordinates."""

from __future__ import annotations

import re
from typing import Final

_TRUE: Final = frozenset({"true", "1", "yes", "да", ""})
MICROS: Final = 1_000_000
_BLANK: Final = re.compile(r"\s")
_BETWEEN_LINKS: Final = re.compile(r"\||,\s*(?=https?://)", re.I)


def amount_micros(text: str) -> int:
    """Returns an amount in millionths.

    Args:
        text: Digits with at most one decimal separator, as the schema lets through.
    """
    whole, _, fraction = text.replace(",", ".").partition(".")
    return int(whole) * MICROS + int((fraction + "000000")[:6])


def absolute_link(text: str) -> str:
    """Returns a link that begins with its scheme, or an empty string when the text is none.

    Shops leave the scheme out in two ways that leave no doubt: //host/path and www.host/path.
    """
    if text.startswith(("https://", "http://", "HTTPS://", "HTTP://")):
        return text if " " not in text.strip() and len(text) > 8 else ""
    if text.startswith("//") and len(text) > 4:
        return "https:" + text
    if text.startswith("www.") and len(text) > 6:
        return "http://" + text
    return ""


def space_within(text: str) -> int:
    """Returns where a blank first stands in what would be a link without its blanks; -1 where it is no such thing."""
    blank = _BLANK.search(text)
    return blank.start() if blank and absolute_link(_BLANK.sub("", text)) else -1


def is_available(text: str) -> bool:
    """Returns what a flag says; what says nothing means yes."""
    return text.strip().lower() in _TRUE


def point(latitude: str, longitude: str) -> tuple[float, float] | None:
    """Returns a point in degrees, or None when the texts are not one."""
    try:
        lat, lon = float(latitude.replace(",", ".")), float(longitude.replace(",", "."))
    except ValueError:
        return None
    # NaN fails both comparisons, infinity one of them.
    return (lat, lon) if -90 <= lat <= 90 and -180 <= lon <= 180 else None


def split_pictures(text: str) -> list[str]:
    """Returns the links of one element, in which some shops put all of them, with bars or commas between."""
    # A comma is a part of many links; before another link it is none.
    return [part.strip() for part in _BETWEEN_LINKS.split(text) if part.strip()]

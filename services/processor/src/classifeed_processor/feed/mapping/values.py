"""Reading single values of an offer: links, coordinates."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

MAX_LINK_CHARS: Final = 4_096
_BLANK: Final = re.compile(r"\s")
# Indentation inside a link is the file's and not the link's.
_LINE_BREAK: Final = re.compile(r"\s*[\t\r\n]\s*")
_BETWEEN_LINKS: Final = re.compile(r"\||,\s*+(?=https?://)|(?<!\s)\s++(?=https?://)", re.I)
# A blank in the name of a host cannot be escaped.
_HOST: Final = re.compile(r"(?:https?://|//|www\.)[^\s/?#]+[/?#]", re.I)


def absolute_link(text: str) -> str:
    """Return a link that begins with its scheme, or an empty string when the text is none.

    Shops leave the scheme out in two ways that leave no doubt: //host/path and www.host/path.
    """
    # Of blanks only the space is printable.
    if (" " in text or not text.isprintable()) and _BLANK.search(text):
        return ""
    if text.startswith(("https://", "http://", "HTTPS://", "HTTP://")):
        return text if len(text) > 8 else ""
    if text.startswith("//") and len(text) > 4:
        return "https:" + text
    if text.startswith("www.") and len(text) > 6:
        return "http://" + text
    return ""


def escaped_link(text: str) -> str:
    """Return the link that a text becomes with its blanks percent-encoded; empty where it becomes none."""
    if len(text) > MAX_LINK_CHARS:
        return ""
    joined = _LINE_BREAK.sub("", text.strip())
    if _HOST.match(joined) is None:
        return ""
    return absolute_link(_BLANK.sub(lambda blank: quote(blank[0]), joined.replace(" ", "%20")))


def space_within(text: str) -> int:
    """Return where a blank first stands in what would be a link without its blanks; -1 where it is no such thing."""
    blank = _BLANK.search(text)
    return blank.start() if blank and absolute_link(_BLANK.sub("", text)) else -1


def point(latitude: str, longitude: str) -> tuple[float, float] | None:
    """Return a point in degrees, or None when the texts are not one."""
    try:
        lat, lon = float(latitude.replace(",", ".")), float(longitude.replace(",", "."))
    except ValueError:
        return None
    # NaN fails both comparisons, infinity one of them.
    return (lat, lon) if -90 <= lat <= 90 and -180 <= lon <= 180 else None


def split_pictures(text: str) -> list[str]:
    """Return the links of one element, in which some shops put all of them, with bars, commas or blanks between."""
    # A comma and a blank are parts of many links; before another link they are none.
    return [part.strip() for part in _BETWEEN_LINKS.split(text) if part.strip()]

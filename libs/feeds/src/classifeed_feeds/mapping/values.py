"""Parse single values of an offer: links and coordinates."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

MAX_LINK_CHARS: Final = 4_096
_BLANK: Final = re.compile(r"\s")
# Indentation inside a link belongs to the file's layout, not to the link.
_LINE_BREAK: Final = re.compile(r"\s*[\t\r\n]\s*")
_BETWEEN_LINKS: Final = re.compile(r"\||,\s*+(?=https?://)|(?<!\s)\s++(?=https?://)", re.I)
# The host of a link must have no blanks, because they cannot be escaped there.
_HOST: Final = re.compile(r"(?:https?://|//|www\.)[^\s/?#]+[/?#]", re.I)


def absolute_link(text: str) -> str:
    """Return a link with its scheme; empty: the text is not a link.

    The scheme may be missing in two unambiguous forms: //host/path and www.host/path.
    """
    # The space is the only printable blank.
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
    """Return the link with percent-encoded blanks; empty: the text is still not a link."""
    if len(text) > MAX_LINK_CHARS:
        return ""
    joined = _LINE_BREAK.sub("", text.strip())
    if _HOST.match(joined) is None:
        return ""
    return absolute_link(_BLANK.sub(lambda blank: quote(blank[0]), joined.replace(" ", "%20")))


def space_within(text: str) -> int:
    """Return the index of the first blank, if the text without blanks is a link; otherwise -1."""
    blank = _BLANK.search(text)
    return blank.start() if blank and absolute_link(_BLANK.sub("", text)) else -1


def point(latitude: str, longitude: str) -> tuple[float, float] | None:
    """Return a point in degrees; None: the texts are not a point."""
    try:
        lat, lon = float(latitude.replace(",", ".")), float(longitude.replace(",", "."))
    except ValueError:
        return None
    # NaN fails both comparisons, infinity one of them.
    return (lat, lon) if -90 <= lat <= 90 and -180 <= lon <= 180 else None


def split_pictures(text: str) -> list[str]:
    """Return the links in one element; some shops put all links there, separated by bars, commas or blanks."""
    # Many links contain commas and blanks; before another link these are separators.
    return [part.strip() for part in _BETWEEN_LINKS.split(text) if part.strip()]

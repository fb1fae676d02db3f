"""Short texts of an offer: unescape texts that were escaped twice, and join titles from other fields."""

from __future__ import annotations

import html
import re
from typing import Final

_ESCAPE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def unescape_once(text: str) -> str:
    """Return a text with HTML references such as `&quot;` resolved; unknown references are kept.

    The text from an XML parser has such references only if it was escaped twice.
    """
    return _ESCAPE.sub(lambda reference: html.unescape(reference[0]), text)


def says_something(text: str) -> bool:
    """Return whether a title has a letter or a digit; a dot or a dash is only a filler."""
    return text[:1].isalnum() or any(char.isalnum() for char in text)


def join_title(prefix: str, vendor: str, model: str) -> str:
    """Join a title; prefix and vendor are left out if they are empty or another part contains them."""
    parts = [model]
    if vendor and not _has_words(model, vendor) and not _has_words(prefix, vendor):
        parts.insert(0, vendor)
    if prefix and not _has_words(" ".join(parts), prefix):
        parts.insert(0, prefix)
    return " ".join(parts)


def _has_words(text: str, words: str) -> bool:
    """Return whether a text contains these words as a sequence of complete words."""
    text, words = text.casefold(), words.casefold()
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not text[max(at - 1, 0) : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(words, at + 1)
    return False

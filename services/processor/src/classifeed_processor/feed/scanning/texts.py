"""Short texts of an offer: escapes that were escaped once more, and titles that are made of other fields."""

from __future__ import annotations

import html
import re
from typing import Final

_ESCAPE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def unescape_once(text: str) -> str:
    """Return a text with the references of HTML in it resolved, such as `&quot;`; those that are unknown stay.

    What an XML parser gives has none, unless whoever wrote it escaped it twice.
    """
    return _ESCAPE.sub(lambda reference: html.unescape(reference[0]), text)


def says_something(text: str) -> bool:
    """Say whether a title has a letter or a digit; a dot or a dash stands for none."""
    return text[:1].isalnum() or any(char.isalnum() for char in text)


def join_title(prefix: str, vendor: str, model: str) -> str:
    """Return a title of these parts, each but the model left out where it is empty or another one says it."""
    parts = [model]
    if vendor and not _has_words(model, vendor) and not _has_words(prefix, vendor):
        parts.insert(0, vendor)
    if prefix and not _has_words(" ".join(parts), prefix):
        parts.insert(0, prefix)
    return " ".join(parts)


def _has_words(text: str, words: str) -> bool:
    """Say whether a text holds these words, whole and one behind the other."""
    text, words = text.casefold(), words.casefold()
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not text[max(at - 1, 0) : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(words, at + 1)
    return False

"""Percent encoding: one spelling of each path, query and fragment (RFC 3986, section 6.2.2)."""

from __future__ import annotations

import re
from typing import Final

_UNRESERVED: Final = r"A-Za-z0-9\-._~"
_PLAIN: Final = _UNRESERVED + r"!$&()*+,;=:@/"
_IS_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX: Final = "0123456789ABCDEFabcdef"
# The spelling of an escape, by its two hex digits.
_SPELLED: Final = {
    high + low: chr(code) if chr(code := int(high + low, 16)) in _IS_UNRESERVED else f"%{high}{low}".upper()
    for high in _HEX
    for low in _HEX
}
_ESCAPE_CHARS: Final = 2


def _pattern(plain: str) -> re.Pattern[str]:
    return re.compile(f"[^{plain}%]+")


_PATH: Final = _pattern(_PLAIN + "'")
_QUERY: Final = _pattern(_PLAIN + "?")  # browsers encode the apostrophe in a query, and only there
_FRAGMENT: Final = _pattern(_PLAIN + "'?")
_USER: Final = re.compile(f"[^{_UNRESERVED}!$&'()*+,;=:%]+")


def normalize_path(text: str) -> str:
    """Return a path with unreserved characters decoded, hex digits in upper case, and all forbidden characters encoded.

    A percent sign without two hex digits is encoded, too; otherwise it could form escapes with decoded characters after
    it. Idempotent, like the other functions.
    """
    return _normalize(text, _PATH)


def normalize_query(text: str) -> str:
    """Return a query, normalized like a path."""
    return _normalize(text, _QUERY)


def normalize_fragment(text: str) -> str:
    """Return a fragment, normalized like a path."""
    return _normalize(text, _FRAGMENT)


def encode_user(text: str) -> str:
    """Return user and password with forbidden characters encoded."""
    return _USER.sub(_encode, text)


def _normalize(text: str, foreign: re.Pattern[str]) -> str:
    """Return a normalized part of a URL; a table of escapes is several times as fast as a pattern."""
    if "%" in text:
        first, *rest = text.split("%")
        parts = [first]
        for part in rest:
            spelled = _SPELLED.get(part[:_ESCAPE_CHARS])
            parts.append(f"%25{part}" if spelled is None else spelled + part[_ESCAPE_CHARS:])
        text = "".join(parts)
    return foreign.sub(_encode, text)


def _encode(found: re.Match[str]) -> str:
    return f"%{found[0].encode().hex('%').upper()}"

"""Percent encoding: one spelling of each path, query and fragment (RFC 3986, section 6.2.2)."""

from __future__ import annotations

import re
from typing import Final

_UNRESERVED: Final = r"A-Za-z0-9\-._~"
_PLAIN: Final = _UNRESERVED + r"!$&()*+,;=:@/"
_IS_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX: Final = "0123456789ABCDEFabcdef"
# By two hex digits: what an escape is spelled as.
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
    """Return a path: unreserved characters decoded, hex in upper case, what has no place in a path encoded.

    A percent sign without two hex digits is encoded too: left as it is, it would make escapes with what is decoded
    behind it. Idempotent, like the rest.
    """
    return _normalize(text, _PATH)


def normalize_query(text: str) -> str:
    """Return a query, likewise."""
    return _normalize(text, _QUERY)


def normalize_fragment(text: str) -> str:
    """Return a fragment, likewise."""
    return _normalize(text, _FRAGMENT)


def encode_user(text: str) -> str:
    """Return user and password with what has no place there encoded, and all else as it is."""
    return _USER.sub(_encode, text)


def _normalize(text: str, foreign: re.Pattern[str]) -> str:
    """Return a part of a URL; the escapes are split off and looked up, which is several times as fast as a pattern."""
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

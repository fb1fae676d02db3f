"""Percent encoding: one spelling of each path, query and fragment (RFC 3986, section 6.2.2)."""

from __future__ import annotations

import re
from typing import Final

_UNRESERVED: Final = r"A-Za-z0-9\-._~"
_PLAIN: Final = _UNRESERVED + r"!$&()*+,;=:@/"
_IS_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _pattern(plain: str) -> re.Pattern[str]:
    return re.compile(f"%([0-9A-Fa-f]{{2}})?|[^{plain}%]+")


_PATH: Final = _pattern(_PLAIN + "'")
_QUERY: Final = _pattern(_PLAIN + "?")  # browsers encode the apostrophe in a query, and only there
_FRAGMENT: Final = _pattern(_PLAIN + "'?")
_USER: Final = re.compile(f"[^{_UNRESERVED}!$&'()*+,;=:%]+")


def normalize_path(text: str) -> str:
    """Return a path: unreserved characters decoded, hex in upper case, what has no place in a path encoded.

    A percent sign without two hex digits is encoded too: left as it is, it would make escapes with what is decoded
    behind it. Idempotent, like the rest.
    """
    return _PATH.sub(_spell, text)


def normalize_query(text: str) -> str:
    """Return a query, likewise."""
    return _QUERY.sub(_spell, text)


def normalize_fragment(text: str) -> str:
    """Return a fragment, likewise."""
    return _FRAGMENT.sub(_spell, text)


def encode_user(text: str) -> str:
    """Return user and password with what has no place there encoded, and all else as it is."""
    return _USER.sub(lambda found: _encode(found[0]), text)


def _spell(found: re.Match[str]) -> str:
    code = found[1]
    if code is None:
        return _encode(found[0])
    char = chr(int(code, 16))
    return char if char in _IS_UNRESERVED else f"%{code.upper()}"


def _encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())

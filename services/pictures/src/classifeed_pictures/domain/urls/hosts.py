"""Hosts of URLs as browsers read them (WHATWG URL, section 3.5): one spelling of each name and address."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote_to_bytes

import idna

_MAX_CHARS: Final = 253
_MAX_ESCAPED_CHARS: Final = 4 * _MAX_CHARS  # before UTS 46 removes ignored characters
_MAX_LABELS: Final = (_MAX_CHARS + 1) // 2
_PLAIN: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
# WHATWG's forbidden domain code points; other characters than ASCII are encoded before.
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HEX: Final = frozenset("0123456789abcdef")
_LONGEST_NUMBER: Final = 64


def canonical_host(text: str) -> str | None:
    """Return the canonical spelling of a host, IPv6 in brackets; None if browsers reject it.

    Names are in lower-case ASCII (UTS 46), without dots at the end; numbers that browsers read as an IPv4 address
    become that address. Idempotent.
    """
    if text.startswith("["):
        return _literal_v6(text[1:-1]) if text.endswith("]") else None
    name = text.lower()
    if not (name.isascii() and _PLAIN.fullmatch(name)):
        decoded = _decode(text)
        if decoded is None:
            return None
        name = decoded
    if not name or len(name) > _MAX_CHARS or _FORBIDDEN.search(name):
        return None
    return _literal_v4(name) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


def _decode(text: str) -> str | None:
    """Return a name in ASCII, without dots at its end; None if it has no such spelling."""
    if "%" in text:
        text = unquote_to_bytes(text).decode("utf-8", "replace")
    if len(text) > _MAX_ESCAPED_CHARS:
        return None
    if not text.isascii():
        try:
            labels = idna.uts46_remap(text, std3_rules=False, transitional=False).split(".")
            if sum(map(bool, labels)) > _MAX_LABELS:
                return None  # checked before the labels are encoded, which is the slowest step
            text = ".".join(map(_label, labels))
        except (idna.IDNAError, UnicodeError):
            return None
    return text.lower().rstrip(".")


def _label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode("ascii")
    except idna.InvalidCodepoint:
        # For example a snowman: UTS 46 and browsers allow it, IDNA 2008 does not.
        return f"xn--{label.encode('punycode').decode('ascii')}"


def _literal_v4(name: str) -> str | None:
    """Return the IPv4 address of numbers in a host: decimal, octal or hexadecimal; the last one fills the rest."""
    parts = [_number(part) for part in name.split(".")]
    if len(parts) > 4:
        return None
    numbers = [part for part in parts if part is not None]
    if len(numbers) < len(parts) or any(number > 255 for number in numbers[:-1]):
        return None
    *high, last = numbers
    if last >= 256 ** (5 - len(numbers)):
        return None
    return str(IPv4Address(sum(number << 8 * (3 - at) for at, number in enumerate(high)) + last))


def _number(part: str) -> int | None:
    if not part or len(part) > _LONGEST_NUMBER:
        return None
    digits, base = part, 10
    if part.startswith("0x"):
        digits, base = part[2:] or "0", 16
    elif part.startswith("0"):
        base = 8
    if not all(digit in _HEX and int(digit, 16) < base for digit in digits):
        return None
    return int(digits, base)


def _literal_v6(text: str) -> str | None:
    if "%" in text or not text.isascii():
        return None
    try:
        number = int(IPv6Address(text))
    except AddressValueError:
        return None
    return f"[{_compressed([number >> shift & 0xFFFF for shift in range(112, -1, -16)])}]"


def _compressed(pieces: list[int]) -> str:
    """Return the text of RFC 5952; Python's own form of mapped IPv4 addresses differs between versions."""
    begin, length = 0, 0
    at = 0
    while at < len(pieces):
        end = at
        while end < len(pieces) and pieces[end] == 0:
            end += 1
        if end - at > max(length, 1):
            begin, length = at, end - at
        at = end + 1
    words = [f"{piece:x}" for piece in pieces]
    if not length:
        return ":".join(words)
    return f"{':'.join(words[:begin])}::{':'.join(words[begin + length :])}"

"""Parse amounts of money as shops write them, for all formats."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MICROS: Final = 1_000_000
_MOST_CHARS: Final = 64
_MOST_DIGITS: Final = 12
_PLAIN: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6})|,([0-9]{1,2}))?")
_MONEY: Final = re.compile(
    r"(?P<before>[^\s\d.,+'’-]{1,4}\.?)?\s*(?P<amount>[0-9](?:[0-9.,'’\s]*[0-9])?)\s*(?P<after>[^\s\d.,+'’-]{1,4}\.?)?"
)
# The same sign separates all thousands; another one comes before the decimals.
_GROUPED: Final = re.compile(r"([0-9]{1,3}(?:([.,'’ ])[0-9]{3})(?:\2[0-9]{3}){0,2})(?:([.,])([0-9]{1,2}))?")
_BLANK: Final = re.compile(r"\s")
_NOT_A_DIGIT: Final = re.compile("[^0-9]")


class Money(NamedTuple):
    """An amount in millionths, and its currency as written; empty: none."""

    micros: int
    currency: str


def read_money(text: str) -> Money | None:
    """Parse a price with an optional currency before or after it; None: it is not a single amount."""
    text = text.strip()
    if text.isdigit() and text.isascii() and len(text) <= _MOST_DIGITS:
        return Money(int(text) * MICROS, "")
    if len(text) > _MOST_CHARS:
        return None
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return Money(_micros(plain[1], plain[2] or plain[3] or ""), "")
    match = _MONEY.fullmatch(text)
    if match is None or (match["before"] and match["after"]):
        return None
    micros = _read_amount(_BLANK.sub(" ", match["amount"]))
    return None if micros is None else Money(micros, match["before"] or match["after"] or "")


def _read_amount(text: str) -> int | None:
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return _micros(plain[1], plain[2] or plain[3] or "")
    grouped = _GROUPED.fullmatch(text)
    if grouped is None:
        return None
    digits, separator, decimal_sign, decimals = grouped.groups()
    whole = _NOT_A_DIGIT.sub("", digits)
    if decimal_sign == separator:
        return None
    # Three digits after a single separator are ambiguous: thousands or thousandths.
    if separator in ".," and not decimals and len(whole) <= 6:
        return None
    return _micros(whole, decimals or "")


def _micros(whole: str, fraction: str) -> int:
    return int(whole) * MICROS + int((fraction + "000000")[:6])

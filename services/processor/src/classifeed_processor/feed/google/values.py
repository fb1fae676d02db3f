"""Reading single values of a product feed: amounts with their currency, words for availability."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from classifeed_processor.domain.currencies import normalise_currency
from classifeed_processor.feed.values import MICROS

_SIGNS: Final = {
    "€": "EUR", "£": "GBP", "₽": "RUB", "₴": "UAH", "₸": "KZT", "₹": "INR", "₺": "TRY", "₪": "ILS", "₩": "KRW",
    "₫": "VND", "руб": "RUB", "руб.": "RUB", "р.": "RUB", "грн": "UAH", "грн.": "UAH", "тг": "KZT", "zł": "PLN",
    "us$": "USD",
}  # fmt: skip
_MONEY: Final = re.compile(
    r"(?P<before>[^\s\d.,+'’-]{1,4}\.?)?\s*(?P<amount>[0-9](?:[0-9.,'’\s]*[0-9])?)\s*(?P<after>[^\s\d.,+'’-]{1,4}\.?)?"
)
_PLAIN: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6})|,([0-9]{1,2}))?")
# One sign between all thousands, another one before the decimals.
_GROUPED: Final = re.compile(r"([0-9]{1,3}(?:([.,'’ ])[0-9]{3})(?:\2[0-9]{3}){0,2})(?:([.,])([0-9]{1,2}))?")

_AVAILABLE: Final = frozenset({"instock", "available", "limitedavailability", "onlineonly", "вналичии"})
_UNAVAILABLE: Final = frozenset(
    {"outofstock", "soldout", "discontinued", "unavailable", "notavailable", "pending", "нетвналичии"}
)
# They can be ordered and not be had now, as what YML calls available="false".
_LATER: Final = frozenset({"preorder", "backorder", "availablefororder", "presale", "madetoorder", "подзаказ"})


class Money(NamedTuple):
    """An amount in millionths, and the currency as it stands; empty when none does."""

    micros: int
    currency: str


class Availability(NamedTuple):
    """Whether an offer can be had now, and whether it can be ordered all the same."""

    now: bool
    later: bool


def read_money(text: str) -> Money | None:
    """Returns what a price says, the currency before or behind it, or None when it is no single amount."""
    match = _MONEY.fullmatch(text.strip())
    if match is None or (match["before"] and match["after"]):
        return None
    micros = _read_amount(re.sub(r"\s", " ", match["amount"]))
    return None if micros is None else Money(micros, match["before"] or match["after"] or "")


def currency_of(text: str) -> str | None:
    """Returns the ISO code that a code or a sign means, or None. The dollar sign alone may mean twenty currencies."""
    return _SIGNS.get(text.lower()) or normalise_currency(text)


def read_availability(text: str) -> Availability | None:
    """Returns what a word says, in any case and with any separators, or None when it says nothing known."""
    word = "".join(char for char in text.rpartition("/")[2].lower() if char.isalpha())
    if word in _AVAILABLE:
        return Availability(now=True, later=False)
    if word in _UNAVAILABLE or word in _LATER:
        return Availability(now=False, later=word in _LATER)
    return None


def _read_amount(text: str) -> int | None:
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return _micros(plain[1], plain[2] or plain[3] or "")
    grouped = _GROUPED.fullmatch(text)
    if grouped is None:
        return None
    digits, separator, decimal_sign, decimals = grouped.groups()
    whole = re.sub("[^0-9]", "", digits)
    if decimal_sign == separator:
        return None
    # Three digits behind one comma may be thousands as well as thousandths, so they mean nothing.
    if separator in ".," and not decimals and len(whole) <= 6:
        return None
    return _micros(whole, decimals or "")


def _micros(whole: str, fraction: str) -> int:
    return int(whole) * MICROS + int((fraction + "000000")[:6])

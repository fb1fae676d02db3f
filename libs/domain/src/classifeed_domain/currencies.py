"""Currency codes that an offer may be priced in."""

from __future__ import annotations

from typing import Final

# ISO 4217, the currencies in circulation, and BYR, which price lists still carry.
_CODES = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BYR BZD CAD "
    "CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD "
    "HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL "
    "LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR "
    "PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP "
    "TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL "
)
CURRENCY_CODES: Final = frozenset(_CODES.split())

# The rouble's code until 1998, which Yandex's own documents still use.
ALIASES: Final = {"RUR": "RUB"}
# Signs and short words that mean one currency. The dollar sign alone may mean twenty.
_SIGNS: Final = {
    "€": "EUR", "£": "GBP", "₽": "RUB", "₴": "UAH", "₸": "KZT", "₹": "INR", "₺": "TRY", "₪": "ILS", "₩": "KRW",
    "₫": "VND", "руб": "RUB", "руб.": "RUB", "р.": "RUB", "грн": "UAH", "грн.": "UAH", "тг": "KZT", "zł": "PLN",
    "us$": "USD",
}  # fmt: skip


def normalise_currency(text: str) -> str | None:
    """Return the ISO code of a currency code, or None if there is no such currency.

    Args:
        text: Code from a feed, in any case, without surrounding blanks.
    """
    code = text.upper()
    code = ALIASES.get(code, code)
    return code if code in CURRENCY_CODES else None


def read_currency(text: str) -> str | None:
    """Return the ISO code of a currency code or sign, or None if it is unknown.

    Args:
        text: Text from a feed, without surrounding blanks.
    """
    return _SIGNS.get(text.lower()) or normalise_currency(text)

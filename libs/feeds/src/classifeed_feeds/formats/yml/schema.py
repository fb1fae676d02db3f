"""The schema of a YML offer, and the messages about its violations."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.offer_schema import OfferSchema, SchemaWords
from classifeed_feeds.scanning.plain_offers import PlainRules

SCHEMA: Final = OfferSchema(__package__, "yml-offer.xsd")
_WHOLE_NUMBER: Final = "a whole number"
_QUANTITIES: Final = ("count", "quantity", "quantity_in_stock", "stock_quantity")
_SHORT: Final = (
    "price", "oldprice", "old_price", "categoryId", "currencyId", "vendor", "brand", "vendorCode", "model",
    "typePrefix", "barcode", "ISBN", *_QUANTITIES,
)  # fmt: skip
_SHORT_CHARS: Final = 512
WORDS: Final = SchemaWords(
    codes={
        "price": "PRICE_INVALID",
        "oldprice": "OLD_PRICE_INVALID",
        "old_price": "OLD_PRICE_INVALID",
        "url": "URL_INVALID",
    },
    expected={
        **dict.fromkeys(_QUANTITIES, _WHOLE_NUMBER),
        "param": 'an attribute name="..." and at most 16,384 characters',
    },
)
PLAIN: Final = PlainRules(
    most_chars=_SHORT_CHARS,
    limits={**dict.fromkeys(_SHORT, _SHORT_CHARS), "url": 4_096, "param": 16_384},
    quantities=frozenset(_QUANTITIES),
    named=frozenset({"param"}),
)

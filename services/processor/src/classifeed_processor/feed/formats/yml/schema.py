"""The schema of one YML offer, and how what it says is told."""

from __future__ import annotations

from typing import Final

from classifeed_processor.feed.mapping.offer_schema import OfferSchema, SchemaWords

SCHEMA: Final = OfferSchema(__package__, "yml-offer.xsd")
_WHOLE_NUMBER: Final = "a whole number"
WORDS: Final = SchemaWords(
    codes={
        "price": "PRICE_INVALID",
        "oldprice": "OLD_PRICE_INVALID",
        "old_price": "OLD_PRICE_INVALID",
        "url": "URL_INVALID",
    },
    expected={
        **dict.fromkeys(("count", "quantity", "quantity_in_stock", "stock_quantity"), _WHOLE_NUMBER),
        "param": 'an attribute name="..." and at most 16,384 characters',
    },
)

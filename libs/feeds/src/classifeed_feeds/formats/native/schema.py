"""The published schema of our own format, and the messages about its violations."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.offer_schema import OfferSchema, SchemaWords

SCHEMA: Final = OfferSchema(__package__, "feed.xsd")
WORDS: Final = SchemaWords(
    codes={
        "price": "PRICE_INVALID",
        "old_price": "OLD_PRICE_INVALID",
        "url": "URL_INVALID",
        "picture": "PICTURE_URL_INVALID",
        "location": "COORDINATES_INVALID",
    },
    expected={
        "title": "text without elements",
        "description": "text without elements; HTML belongs in CDATA",
        "category": 'a path of at most 600 characters, and id="..." where it has one',
        "stock": "a whole number from 0",
        "attribute": 'an attribute name="..." and at most 16,384 characters',
    },
    # The mapping reads these as in other formats.
    lenient=frozenset({"price", "old_price", "url", "picture", "available"}),
)

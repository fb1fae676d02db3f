"""Meanings of the elements of an offer in our own format."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.extraction import GatheredOffer, TagTable, take_barcode, take_named_param
from classifeed_feeds.scanning.elements import FeedElement

DESCRIBING_TAGS: Final = frozenset(
    {"title", "description", "category", "url", "picture", "vendor", "model", "address", "attribute"}
)


def _take_price(gathered: GatheredOffer, element: FeedElement) -> None:
    gathered.note("price", element.text or "")
    gathered.note("currency", element.get("currency") or "")


def _take_category(gathered: GatheredOffer, element: FeedElement) -> None:
    gathered.note("category", element.get("id") or "")
    gathered.note("category_path", element.text or "")


def _take_location(gathered: GatheredOffer, element: FeedElement) -> None:
    gathered.note("latitude", element.get("latitude") or "")
    gathered.note("longitude", element.get("longitude") or "")


TABLE: Final = TagTable(
    single={
        "title": "title",
        "description": "description",
        "old_price": "old_price",
        "url": "url",
        "available": "available",
        "stock": "stock",
        "vendor": "vendor",
        "model": "model",
        "vendor_code": "vendor_code",
        "address": "address",
    },
    picture=frozenset({"picture"}),
    special={
        "price": _take_price,
        "category": _take_category,
        "location": _take_location,
        "barcode": take_barcode,
        "attribute": take_named_param,
    },
    markup=frozenset(),
    special_meanings={
        "price": "price",
        "category": "category",
        "location": "latitude",
        "barcode": "barcodes",
        "attribute": "attributes",
    },
)

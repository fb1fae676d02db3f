"""Meanings of the elements of a YML offer, with unofficial names that shops use."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.extraction import (
    GatheredOffer,
    TagTable,
    take_barcode,
    take_named_param,
)
from classifeed_feeds.scanning.elements import FeedElement

_SINGLE: Final = {
    "name": "title", "title": "title",
    "price": "price", "oldprice": "old_price", "old_price": "old_price",
    "currencyId": "currency", "categoryId": "category", "category": "category_text", "product_type": "category_text",
    "url": "url", "description": "description",
    "vendor": "vendor", "brand": "vendor", "vendorCode": "vendor_code", "model": "model", "typePrefix": "type_prefix",
    "available": "available", "address": "address",
    "latitude": "latitude", "lat": "latitude", "longitude": "longitude", "lon": "longitude", "lng": "longitude",
    "coordinates": "coordinates",
    "count": "stock", "quantity": "stock", "quantity_in_stock": "stock", "stock_quantity": "stock",
}  # fmt: skip
DESCRIBING_TAGS: Final = frozenset(
    {
        "name",
        "title",
        "model",
        "typePrefix",
        "description",
        "categoryId",
        "category",
        "product_type",
        "picture",
        "url",
        "vendor",
        "brand",
    }
)


def _take_outlets(gathered: GatheredOffer, outlets: FeedElement) -> None:
    counts = [outlet.get("instock") or "" for outlet in outlets if outlet.tag == "outlet"]
    known = [int(count) for count in counts if count.strip().isascii() and count.strip().isdigit() and len(count) < 13]
    if known:
        gathered.texts["stock_in_outlets"] = str(sum(known))


TABLE: Final = TagTable(
    single=_SINGLE,
    picture=frozenset({"picture"}),
    special={
        "param": take_named_param,
        "outlets": _take_outlets,
        "barcode": take_barcode,
        "ISBN": take_barcode,
    },
    markup=frozenset({"title", "description", "address"}),
    special_meanings={"param": "attributes", "outlets": "stock", "barcode": "barcodes", "ISBN": "barcodes"},
)

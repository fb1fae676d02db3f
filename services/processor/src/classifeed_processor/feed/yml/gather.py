"""Taking one <offer> apart: the texts of its elements, before anything is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lxml import etree

# Elements that are read as one text each; a shop's own name for a thing stands beside the format's.
SINGLE_TAGS: Final = {
    "name": "name", "title": "name",
    "price": "price", "oldprice": "old_price", "old_price": "old_price",
    "currencyId": "currency", "categoryId": "category",
    "url": "url", "description": "description",
    "vendor": "vendor", "brand": "vendor", "vendorCode": "vendor_code", "model": "model", "typePrefix": "type_prefix",
    "available": "available", "address": "address",
    "latitude": "latitude", "lat": "latitude", "longitude": "longitude", "lon": "longitude", "lng": "longitude",
    "coordinates": "coordinates",
    "count": "stock", "quantity": "stock", "quantity_in_stock": "stock", "stock_quantity": "stock",
}  # fmt: skip
_BARCODES: Final = frozenset({"barcode", "ISBN"})
# Without any of these in the whole file, it updates prices and stock and describes nothing.
DESCRIBING_TAGS: Final = frozenset(
    {"name", "title", "model", "typePrefix", "description", "categoryId", "picture", "url", "vendor", "brand"}
)


NOTHING: Final[frozenset[tuple[str, int]]] = frozenset()
# Meanings of elements in which shops put markup without hiding it in CDATA.
_MARKUP: Final = frozenset({"name", "description", "address"})


class GatheredOffer:
    """The texts of one offer. `texts` holds them by meaning."""

    __slots__ = ("barcodes", "params", "pictures", "stock_in_outlets", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.pictures: list[str] = []
        self.params: list[tuple[str, str, str]] = []
        self.barcodes: list[str] = []
        self.stock_in_outlets: int | None = None


def gather(offer: etree._Element, skip: frozenset[tuple[str, int]]) -> GatheredOffer:
    """Returns the texts of an offer.

    Args:
        offer: The element.
        skip: Elements (tag, nth from 1) that the schema refused; they count as absent.
    """
    gathered = GatheredOffer()
    texts = gathered.texts
    meaning_of = SINGLE_TAGS.get
    for child in _without(offer, skip) if skip else offer:
        tag = child.tag
        text = child.text
        meaning = meaning_of(tag)
        if meaning is not None:
            if meaning in _MARKUP and len(child):
                text = inner_text(child)
            # The first that says something counts; empty elements say nothing.
            if text and meaning not in texts and (text := text.strip()):
                texts[meaning] = text
            continue
        text = text.strip() if text else ""
        if tag == "param":
            if text and (name := child.get("name")):
                gathered.params.append((name.strip(), text, (child.get("unit") or "").strip()))
        elif tag == "picture":
            gathered.pictures.append(text)
        elif tag == "outlets":
            gathered.stock_in_outlets = _sum_outlets(child)
        elif text and tag in _BARCODES:
            gathered.barcodes.append(text)
    return gathered


def inner_text(element: etree._Element) -> str:
    """Returns all text inside an element, without its markup."""
    return "".join(str(text) for text in element.itertext())


def tag_of(offer: etree._Element, meaning: str) -> str:
    """Returns the tag in which the offer says something; slow, for messages."""
    for child in offer:
        if SINGLE_TAGS.get(child.tag) == meaning and inner_text(child).strip():
            return str(child.tag)
    return ""


def _without(offer: etree._Element, skip: frozenset[tuple[str, int]]) -> Iterator[etree._Element]:
    seen: dict[str, int] = {}
    for child in offer:
        tag = str(child.tag)
        seen[tag] = seen.get(tag, 0) + 1
        if (tag, seen[tag]) not in skip:
            yield child


def _sum_outlets(outlets: etree._Element) -> int | None:
    counts = [outlet.get("instock") or "" for outlet in outlets.iterfind("outlet")]
    known = [int(count) for count in counts if count.strip().isascii() and count.strip().isdigit() and len(count) < 13]
    return sum(known) if known else None

"""From one offer element to the offer that is sent: what all formats share. A format fills in what is its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

from lxml import etree

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_processor.domain.currencies import normalise_currency
from classifeed_processor.feed.categories import CategoryPaths
from classifeed_processor.feed.field_names import FieldNames
from classifeed_processor.feed.gathering import NOTHING, GatheredOffer, TagTable
from classifeed_processor.feed.issues import IssueWriter
from classifeed_processor.feed.scan import FeedScan
from classifeed_processor.feed.values import absolute_link, amount_micros, is_available, point, split_pictures

_MAX_TITLE_CHARS = 1_000
_PLAIN_FIELDS = ("description", "address", "vendor", "vendor_code", "model")
_STATED_MESSAGES = ("price", "old_price", "location", "stock_quantity")
_STATED_VALUES = (
    "title", "description", "category_id", "category_path", "url", "address", "picture_urls", "attributes",
    "vendor", "vendor_code", "model", "barcodes",
)  # fmt: skip

currency_code = lru_cache(maxsize=1024)(normalise_currency)


class TableMapping:
    """Maps the offers of one file, one after the other.

    Attributes:
        table: What the elements of an offer mean.
        names: What the format calls its fields.
        currency_meaning: Meaning of the element that names the currency.
        patch: Whether to ask for what the file names and for nothing more.
        offer: The offer at hand.
        texts: What it says, by meaning.
        issues: Where what is wrong with it is written down.
        skip: Its elements that were refused before.
        cleared: Fields that a patch takes away from the offer, as the file says that it does not have them.
    """

    table: ClassVar[TagTable]
    names: ClassVar[FieldNames]
    currency_meaning: ClassVar[str] = "currency"

    offer: etree._Element
    texts: dict[str, str]
    issues: IssueWriter
    skip: frozenset[tuple[str, int]]
    cleared: list[str]

    def __init__(self, scan: FeedScan, patch: bool) -> None:
        self.head = scan.head
        self.categories = CategoryPaths(scan.head.categories)
        self.patch = patch

    def refuse(self) -> frozenset[tuple[str, int]]:
        """Returns the elements of the offer that must count as absent (name, nth from 1), written down by then."""
        return NOTHING

    def check(self, gathered: GatheredOffer) -> None:
        """Takes out of what was gathered what cannot be used, and writes it down."""

    def find_title(self) -> str:
        """Returns the title; empty when the offer has none."""
        return self.texts.get("title", "")

    def put_price(self, content: OfferContent) -> None:
        """Puts price and old price in."""
        raise NotImplementedError

    def put_category(self, content: OfferContent) -> None:
        """Puts the category in."""
        raise NotImplementedError

    def find_availability(self) -> str | None:
        """Returns the flag that says whether the offer can be had; None when nothing says so."""
        return self.texts.get("available")

    def fill(self, record: OfferRecord, offer: etree._Element, issues: IssueWriter) -> None:
        """Fills `record.content` and, for a patch, `record.named_fields`; writes down what is wrong."""
        self.offer, self.issues, self.cleared = offer, issues, []
        self.skip = self.refuse()
        gathered = self.table.gather(offer, self.skip)
        texts = self.texts = gathered.texts
        self.check(gathered)
        content = record.content
        self._put_title(content)
        self.put_price(content)
        self.put_category(content)
        if "url" in texts:
            self._put_url(content, texts["url"])
        if gathered.pictures:
            content.picture_urls.extend(self._links(gathered.pictures))
        if "latitude" in texts or "coordinates" in texts:
            self._put_location(content)
        for field in _PLAIN_FIELDS:
            if field in texts:
                setattr(content, field, texts[field])
        add_attribute = content.attributes.add
        for name, value, unit in gathered.params:
            add_attribute(name=name, value=value, unit=unit)
        if gathered.barcodes:
            content.barcodes.extend(gathered.barcodes)
        availability = self.find_availability()
        content.available = is_available(availability or "")
        if "stock" in texts:
            content.stock_quantity = int(texts["stock"].partition(".")[0])
        if self.patch:
            record.named_fields.extend(_stated_fields(content, available=availability is not None))
            record.named_fields.extend(self.cleared)

    def add_issue(self, code: str, meaning: str, *, field: str = "", value: str = "", **details: object) -> None:
        """Writes down what is wrong with the element of this meaning."""
        element = self.table.element(self.offer, meaning)
        self.issues.add(code, field=field, element=element, value=value, **details)

    def set_price(self, content: OfferContent, micros: int, currency: str, value: str) -> None:
        """Puts the price in, unless it is zero."""
        if micros == 0:
            # Many shops write 0 for "on request"; a zero that is searched and sorted by would mislead.
            self.add_issue("PRICE_ZERO", "price", value=value)
        else:
            content.price.amount_micros = micros
            content.price.currency_code = currency

    def set_old_price(self, content: OfferContent, micros: int, currency: str) -> None:
        """Puts the price before a discount in."""
        content.old_price.amount_micros = micros
        content.old_price.currency_code = currency

    def find_currency(self, *, needed: bool) -> str:
        """Returns the currency that the offer names, or else the shop's main one; empty when there is none.

        Args:
            needed: Whether there is a price for it.
        """
        if "currency" in self.texts:
            code = currency_code(self.texts["currency"])
            if code is None:
                self.add_issue("CURRENCY_UNKNOWN", self.currency_meaning, value=self.texts["currency"])
            return code or ""
        main = self.head.main_currency
        # In a patch an offer that exists keeps its currency.
        if needed and not self.patch:
            if main:
                self.issues.add("CURRENCY_ASSUMED", field=self.names.currency, currency=main)
            else:
                self.issues.add("CURRENCY_MISSING", field=self.names.currency)
        return main

    def put_listed_category(self, content: OfferContent) -> None:
        """Puts a category in that the offer names by an id out of the file's own list."""
        category_id = self.texts.get("category")
        if category_id is None:
            if self.categories and not self.patch:
                self.issues.add("CATEGORY_MISSING", field=self.names.category)
            return
        content.category_id = category_id
        path = self.categories.find(category_id)
        if path is not None:
            content.category_path.extend(path)
        elif self.categories:
            self.add_issue("CATEGORY_UNKNOWN", "category", value=category_id)

    def put_plain_price(self, content: OfferContent) -> None:
        """Puts amounts in that stand apart from their currency."""
        texts = self.texts
        price = texts.get("price")
        if price is None and not self.patch and (self.names.price, 1) not in self.skip:
            self.issues.add("PRICE_MISSING", field=self.names.price)
        currency = self.find_currency(needed=price is not None)
        if price is not None:
            self.set_price(content, amount_micros(price), currency, price)
        if "old_price" in texts:
            self._put_old_price(content, texts["old_price"], currency, price)

    def _put_old_price(self, content: OfferContent, text: str, currency: str, price: str | None) -> None:
        micros = amount_micros(text)
        if price is not None and micros <= amount_micros(price):
            self.add_issue("OLD_PRICE_NOT_HIGHER", "old_price", value=text, price=price)
            # The discount that an offer may have had is over: the old price that is kept of it must not stay.
            self.cleared.append("old_price")
        else:
            self.set_old_price(content, micros, currency)

    def _put_title(self, content: OfferContent) -> None:
        title = self.find_title()
        if not title:
            if not self.patch:
                self.issues.add("TITLE_MISSING", field=self.names.title)
            return
        if len(title) > _MAX_TITLE_CHARS:
            self.add_issue("TITLE_TOO_LONG", "title", value=title, length=len(title))
            title = title[:_MAX_TITLE_CHARS]
        content.title = title if title.isprintable() and "  " not in title else " ".join(title.split())

    def _put_url(self, content: OfferContent, text: str) -> None:
        if link := absolute_link(text):
            content.url = link
        else:
            self.add_issue("URL_INVALID", "url", value=text)

    def _links(self, texts: list[str]) -> Iterable[str]:
        links: dict[str, None] = {}
        elements: list[etree._Element] = []
        for nth, text in enumerate(texts):
            if text.startswith("https://") and " " not in text and "|" not in text and "," not in text:
                links[text] = None
                continue
            for part in split_pictures(text):
                if link := absolute_link(part):
                    links[link] = None
                else:
                    elements = elements or self.table.pictures(self.offer)
                    self.issues.add("PICTURE_URL_INVALID", element=elements[nth], value=part)
        return links

    def _put_location(self, content: OfferContent) -> None:
        texts = self.texts
        if "coordinates" in texts:
            latitude, _, longitude = texts["coordinates"].replace(";", ",").partition(",")
            meaning = "coordinates"
        else:
            latitude, longitude = texts["latitude"], texts.get("longitude", "")
            meaning = "latitude"
        found = point(latitude.strip(), longitude.strip())
        if found is None:
            self.add_issue("COORDINATES_INVALID", meaning, value=f"{latitude.strip()}, {longitude.strip()}")
        else:
            content.location.latitude, content.location.longitude = found


def _stated_fields(content: OfferContent, *, available: bool) -> list[str]:
    """Returns the names of the fields that the file states; `available` has a value in any case."""
    names = [field for field in _STATED_MESSAGES if content.HasField(field)]
    names += [field for field in _STATED_VALUES if getattr(content, field)]
    return [*names, "available"] if available else names

"""Mapping of an offer's element to an offer, common to all formats; each format adds its own parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from lxml import etree

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_domain.currencies import read_currency
from classifeed_feeds.mapping.availability import read_availability
from classifeed_feeds.mapping.categories import CategoryPaths
from classifeed_feeds.mapping.extraction import NOTHING, GatheredOffer, TagTable
from classifeed_feeds.mapping.field_names import FieldNames
from classifeed_feeds.mapping.issues import IssueWriter
from classifeed_feeds.mapping.values import MAX_LINK_CHARS, absolute_link, escaped_link, point, split_pictures
from classifeed_feeds.scanning.elements import FeedElement, FeedOffer, PlainOffer
from classifeed_feeds.scanning.scan import FeedScan
from classifeed_feeds.scanning.texts import says_something, unescape_once

_MAX_TITLE_CHARS = 1_000
_PLAIN_FIELDS = ("description", "address", "vendor", "vendor_code", "model")
_STATED_MESSAGES = ("price", "old_price", "location", "stock_quantity")
_STATED_VALUES = (
    "title", "description", "category_id", "category_path", "url", "address", "picture_urls", "attributes",
    "vendor", "vendor_code", "model", "barcodes",
)  # fmt: skip

# Texts without markup, in which an HTML reference means that the text was escaped twice.
_UNESCAPED_FIELDS = ("title", "vendor", "model", "type_prefix")

_MAX_CURRENCY_CHARS = 16
_cached_currency = lru_cache(maxsize=1024)(read_currency)


def currency_code(text: str) -> str | None:
    """Return the ISO code for a code or sign of a currency; None: it is unknown."""
    return _cached_currency(text) if len(text) <= _MAX_CURRENCY_CHARS else None


@dataclass(frozen=True, slots=True)
class MappingOptions:
    """Options of a load for the mapping of its offers.

    Attributes:
        patch: Whether only the fields in the file are changed, so that no field is required.
        default_currency: ISO code for amounts without a currency; empty: none.
    """

    patch: bool = False
    default_currency: str = ""


class TableMapping:
    """Maps the offers of one file, one after the other.

    Attributes:
        table: Meanings of an offer's elements.
        names: The format's names of the fields.
        currency_meaning: Meaning of the element with the currency.
        implied_currency: The format's default for files without any currency; empty: none.
        availability_words: Notation of availability.
        patch: Whether only the fields in the file are changed, so that no field is required.
        offer: The current offer.
        texts: Texts of the offer by meaning.
        issues: Writer of the offer's issues.
        skip: Elements of the offer that were rejected before.
        assumed_currency: ISO code for amounts without a currency; empty: none can be assumed.
        cleared: Fields that a patch removes from the offer.
    """

    table: ClassVar[TagTable]
    names: ClassVar[FieldNames]
    currency_meaning: ClassVar[str] = "currency"
    implied_currency: ClassVar[str] = ""
    availability_words: ClassVar[str] = "true or false, or the number of pieces"

    offer: FeedOffer
    texts: dict[str, str]
    issues: IssueWriter
    skip: frozenset[FeedElement]
    cleared: list[str]
    _children: Sequence[FeedElement] | None
    _elements: dict[str, FeedElement] | None

    def __init__(self, scan: FeedScan, options: MappingOptions) -> None:
        self.head = scan.head
        self.categories = CategoryPaths(scan.head.categories)
        self.patch = options.patch
        self.assumed_currency, self._assumed_from = self._assume_currency(options.default_currency)

    def refuse(self, _offer: etree._Element, _children: list[etree._Element], /) -> frozenset[etree._Element]:
        """Return the elements of the offer to treat as absent, after adding their issues."""
        return NOTHING

    def check(self, gathered: GatheredOffer) -> None:
        """Remove unusable values from the gathered texts, and add an issue for each."""

    def find_title(self) -> str:
        """Return the title; empty: the offer has none."""
        title = self.texts.get("title", "")
        return title if says_something(title) else ""

    def put_price(self, content: OfferContent) -> None:
        """Set price and old price."""
        raise NotImplementedError

    def put_category(self, content: OfferContent) -> None:
        """Set the category."""
        raise NotImplementedError

    def find_availability(self) -> str | None:
        """Return the text about availability; None: there is none."""
        return self.texts.get("available")

    def fill(self, record: OfferRecord, offer: FeedOffer, issues: IssueWriter) -> None:
        """Fill `record.content` and, for a patch, `record.named_fields`; add issues to `issues`."""
        self.offer, self.issues, self.cleared, self._elements = offer, issues, [], None
        if isinstance(offer, PlainOffer):
            self._children, self.skip = None, NOTHING
            gathered = self.table.gather_rows(offer.rows)
        else:
            # A list, so that lxml creates the object of an element, and the string of its name, only once.
            children = list(offer)
            if skip := self.refuse(offer, children):
                children = [child for child in children if child not in skip]
            self._children, self.skip = children, skip
            gathered = self.table.gather(children)
        texts = self.texts = gathered.texts
        self.check(gathered)
        self._unescape(texts)
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
        is_available_stated = self._put_availability(content, gathered)
        add_attribute = content.attributes.add
        for name, value, unit in gathered.params:
            add_attribute(name=name, value=value, unit=unit)
        if gathered.barcodes:
            content.barcodes.extend(gathered.barcodes)
        if "stock" in texts:
            content.stock_quantity = int(texts["stock"].partition(".")[0])
        if self.patch:
            record.named_fields.extend(_stated_fields(content, available=is_available_stated))
            record.named_fields.extend(self.cleared)

    def add_issue(self, code: str, meaning: str, *, field: str = "", value: str = "", **details: object) -> None:
        """Add an issue about the element with a meaning."""
        if self._elements is None:  # the same for all issues of the offer
            self._elements = self.table.elements(self._all_children())
        self.issues.add(code, field=field, element=self._elements.get(meaning), value=value, **details)

    def _all_children(self) -> Sequence[FeedElement]:
        if self._children is None:
            self._children = list(self.offer)
        return self._children

    def set_price(self, content: OfferContent, micros: int, currency: str, value: str) -> None:
        """Set the price, unless it is zero."""
        if micros == 0:
            # Many shops write 0 for "on request", which would mislead in searches and sorting.
            self.add_issue("PRICE_ZERO", "price", value=value, instead="the offer is shown without one")
        else:
            content.price.amount_micros = micros
            content.price.currency_code = currency

    def set_old_price(self, content: OfferContent, micros: int, currency: str) -> None:
        """Set the price before a discount."""
        content.old_price.amount_micros = micros
        content.old_price.currency_code = currency

    def find_currency(self, *, needed: bool, beside: str = "") -> str:
        """Return the currency of the offer, or the assumed one; empty: there is none.

        Args:
            needed: Whether the offer has a price.
            beside: ISO code next to an amount; empty: none.
        """
        if "currency" in self.texts:
            code = currency_code(self.texts["currency"])
            if code is None:
                self.add_issue("CURRENCY_UNKNOWN", self.currency_meaning, value=self.texts["currency"])
            return code or ""
        if beside:
            return beside
        if self.patch:
            # An existing offer keeps its currency, unless the file has a main one.
            return self.head.main_currency
        if needed:
            self.note_no_currency()
        return self.assumed_currency

    def note_no_currency(self, meaning: str = "", value: str = "") -> None:
        """Add an issue about an amount without a currency, with the assumed currency if there is one.

        Args:
            meaning: Meaning of the amount's element, if the currency belongs into the same element.
            value: Text of the element.
        """
        code = "CURRENCY_ASSUMED" if self.assumed_currency else "CURRENCY_MISSING"
        currency, source = self.assumed_currency, self._assumed_from
        if meaning:
            self.add_issue(code, meaning, value=value, currency=currency, source=source)
        else:
            self.issues.add(code, field=self.names.currency, value=value, currency=currency, source=source)

    def _assume_currency(self, default: str) -> tuple[str, str]:
        """Return the currency for amounts without one, and a description of its origin."""
        if self.head.main_currency:
            return self.head.main_currency, "the main currency of the file"
        if default:
            return default, "the currency given with --currency"
        if self.implied_currency and not self.head.currencies:
            return self.implied_currency, "the default currency of the format"
        return "", ""

    def _put_availability(self, content: OfferContent, gathered: GatheredOffer) -> bool:
        """Set the availability, which is True by default, and return whether the offer states it."""
        text = self.find_availability()
        content.available = True
        if not text:
            return False
        found = read_availability(text)
        if found is None:
            self.note_availability(text)
            return False
        content.available = found.now
        if found.pieces >= 0:
            gathered.texts.setdefault("stock", str(found.pieces))
        elif found.later:
            gathered.params.append(("availability", text, ""))
        return True

    def note_availability(self, text: str) -> None:
        """Add an issue about an invalid text of availability."""
        self.note_unread("available", text, self.availability_words)

    def note_unread(self, meaning: str, value: str, expected: str) -> None:
        """Add an issue about a value that was left out because it does not fit its field."""
        self.add_issue("FIELD_INVALID", meaning, value=value, expected=expected)

    def _unescape(self, texts: dict[str, str]) -> None:
        for meaning in _UNESCAPED_FIELDS:
            text = texts.get(meaning, "")
            if "&" in text and (plain := unescape_once(text)) != text:
                texts[meaning] = plain
                self.add_issue("ESCAPED_TWICE", meaning, value=text)

    def _put_title(self, content: OfferContent) -> None:
        title = self.find_title()
        if not title:
            if self.patch and "title" in self.texts:
                self.note_unread("title", self.texts["title"], "words")
            elif not self.patch:
                self.add_issue("TITLE_MISSING", "title", field=self.names.title, value=self.texts.get("title", ""))
            return
        if len(title) > _MAX_TITLE_CHARS:
            self.add_issue("TITLE_TOO_LONG", "title", value=title, length=len(title))
            title = title[:_MAX_TITLE_CHARS]
        content.title = title if title.isprintable() and "  " not in title else " ".join(title.split())

    def _put_url(self, content: OfferContent, text: str) -> None:
        if len(text) <= MAX_LINK_CHARS and (link := absolute_link(text)):
            content.url = link
        elif len(text) <= MAX_LINK_CHARS and (link := escaped_link(text)):
            content.url = link
            self.add_issue("LINK_ESCAPED", "url", value=text)
        else:
            self.add_issue("URL_INVALID", "url", value=text)

    def _links(self, texts: list[str]) -> Iterable[str]:
        links: dict[str, None] = {}
        elements: list[FeedElement] = []
        for nth, text in enumerate(texts):
            if _is_one_link(text):
                links[text] = None
                continue
            for part in split_pictures(text):
                if link := absolute_link(part):
                    links[link] = None
                    continue
                elements = elements or self.table.pictures(self._all_children())
                if link := escaped_link(part):
                    links[link] = None
                    self.issues.add("LINK_ESCAPED", element=elements[nth], value=part)
                else:
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


def _is_one_link(text: str) -> bool:
    """Return whether a quick check shows that a text is one complete link; other texts need more checks."""
    # The space is the only printable blank.
    return (
        text.startswith("https://") and " " not in text and "|" not in text and "," not in text and text.isprintable()
    )


def _stated_fields(content: OfferContent, *, available: bool) -> list[str]:
    """Return the names of the fields that the file states; `available` has a value even if it is not stated."""
    names = [field for field in _STATED_MESSAGES if content.HasField(field)]
    names += [field for field in _STATED_VALUES if getattr(content, field)]
    return [*names, "available"] if available else names

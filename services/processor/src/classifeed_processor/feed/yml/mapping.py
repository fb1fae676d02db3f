"""From one YML <offer> to the offer that is sent, with everything that is wrong with it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from lxml import etree

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_processor.domain.currencies import normalise_currency
from classifeed_processor.feed.issues import IssueWriter
from classifeed_processor.feed.scan import FeedScan
from classifeed_processor.feed.yml.categories import CategoryPaths
from classifeed_processor.feed.yml.gather import NOTHING, GatheredOffer, gather, inner_text, tag_of
from classifeed_processor.feed.yml.schema import compile_schema
from classifeed_processor.feed.yml.values import absolute_link, amount_micros, is_available, point, split_pictures

_MAX_TITLE_CHARS = 1_000
_PLAIN_FIELDS = ("description", "address", "vendor", "vendor_code", "model")
_SCHEMA_PATH = re.compile(r"/offer/(?P<tag>[^/\[]+)(?:\[(?P<nth>\d+)\])?")
_SCHEMA_CODES = {
    "price": "PRICE_INVALID",
    "oldprice": "OLD_PRICE_INVALID",
    "old_price": "OLD_PRICE_INVALID",
    "url": "URL_INVALID",
}
_EXPECTED = {
    "count": "a whole number", "quantity": "a whole number", "quantity_in_stock": "a whole number",
    "stock_quantity": "a whole number", "param": 'an attribute name="..." and at most 16,384 characters',
    "available": "true or false",
}  # fmt: skip

_currency_code = lru_cache(maxsize=1024)(normalise_currency)


class YmlMapping:
    """Maps the offers of one file. `patch` asks for what the file names and for nothing more."""

    def __init__(self, scan: FeedScan, *, patch: bool) -> None:
        self._schema = compile_schema(scan.child_tags)
        self._validate = self._schema.validate
        self._head = scan.head
        self._categories = CategoryPaths(scan.head.categories)
        self._patch = patch

    def fill(self, record: OfferRecord, offer: etree._Element, issues: IssueWriter) -> None:
        """Fills `record.content` and, for a patch, `record.named_fields`; writes down what is wrong."""
        skip = NOTHING if self._validate(offer) else self._report_schema_errors(offer, issues)
        gathered = gather(offer, skip)
        texts = gathered.texts
        content = record.content
        self._title(content, offer, texts, issues)
        self._price(content, texts, issues, skip)
        self._category(content, texts, issues)
        self._links(content, gathered, issues)
        if "coordinates" in texts or "latitude" in texts:
            _place(content, offer, texts, issues)
        for field in _PLAIN_FIELDS:
            if field in texts:
                setattr(content, field, texts[field])
        add_attribute = content.attributes.add
        for name, value, unit in gathered.params:
            add_attribute(name=name, value=value, unit=unit)
        if gathered.barcodes:
            content.barcodes.extend(gathered.barcodes)
        content.available = is_available(offer.get("available") or texts.get("available", ""))
        if "stock" in texts:
            content.stock_quantity = int(texts["stock"].partition(".")[0])
        elif gathered.stock_in_outlets is not None:
            content.stock_quantity = gathered.stock_in_outlets
        if self._patch:
            record.named_fields.extend(_named_fields(offer, content))

    def _report_schema_errors(self, offer: etree._Element, issues: IssueWriter) -> frozenset[tuple[str, int]]:
        refused: set[tuple[str, int]] = set()
        by_tag: defaultdict[str, list[etree._Element]] = defaultdict(list)
        for child in offer:
            by_tag[str(child.tag)].append(child)
        for error in self._schema.error_log:  # type: ignore[attr-defined]
            match = _SCHEMA_PATH.match(error.path or "")
            if match is None:
                if ("", 0) not in refused:
                    refused.add(("", 0))
                    issues.add(
                        "FIELD_INVALID",
                        field="available",
                        value=offer.get("available") or "",
                        expected=_EXPECTED["available"],
                    )
                continue
            tag, nth = match["tag"], int(match["nth"] or 1)
            # libxml2 says two or three things about one wrong value.
            if (tag, nth) in refused:
                continue
            refused.add((tag, nth))
            found = by_tag[tag]
            value = inner_text(found[nth - 1]).strip() if len(found) >= nth else ""
            code = _SCHEMA_CODES.get(tag, "FIELD_INVALID")
            issues.add(code, tag=tag, nth=nth, value=value, expected=_EXPECTED.get(tag, "at most 512 characters"))
        return frozenset(refused)

    def _title(self, content: OfferContent, offer: etree._Element, texts: dict[str, str], issues: IssueWriter) -> None:
        title = texts.get("name", "")
        if not title and "model" in texts:
            parts = [texts[part] for part in ("type_prefix", "vendor") if part in texts]
            title = " ".join([*parts, texts["model"]]) if parts else ""
        if not title:
            if not self._patch:
                issues.add("TITLE_MISSING", field="name")
            return
        if len(title) > _MAX_TITLE_CHARS:
            issues.add("TITLE_TOO_LONG", tag=tag_of(offer, "name"), value=title, length=len(title))
            title = title[:_MAX_TITLE_CHARS]
        content.title = title if title.isprintable() and "  " not in title else " ".join(title.split())

    def _price(
        self, content: OfferContent, texts: dict[str, str], issues: IssueWriter, skip: frozenset[tuple[str, int]]
    ) -> None:
        price = texts.get("price")
        if price is None and not self._patch and ("price", 1) not in skip:
            issues.add("PRICE_MISSING", field="price")
        currency = self._currency(texts, issues, needed=price is not None)
        if price is not None:
            micros = amount_micros(price)
            if micros == 0:
                # Many shops write 0 for "on request"; a zero that is searched and sorted by would mislead.
                issues.add("PRICE_ZERO", tag="price", value=price)
            else:
                target = content.price
                target.amount_micros = micros
                target.currency_code = currency
        if "old_price" in texts:
            target = content.old_price
            target.amount_micros = amount_micros(texts["old_price"])
            target.currency_code = currency

    def _currency(self, texts: dict[str, str], issues: IssueWriter, *, needed: bool) -> str:
        if "currency" in texts:
            code = _currency_code(texts["currency"])
            if code is None:
                issues.add("CURRENCY_UNKNOWN", tag="currencyId", value=texts["currency"])
            return code or ""
        main = self._head.main_currency
        # In a patch an offer that exists keeps its currency.
        if needed and not self._patch:
            if main:
                issues.add("CURRENCY_ASSUMED", field="currencyId", currency=main)
            else:
                issues.add("CURRENCY_MISSING", field="currencyId")
        return main

    def _category(self, content: OfferContent, texts: dict[str, str], issues: IssueWriter) -> None:
        category_id = texts.get("category")
        if category_id is None:
            if self._categories and not self._patch:
                issues.add("CATEGORY_MISSING", field="categoryId")
            return
        content.category_id = category_id
        path = self._categories.find(category_id)
        if path is not None:
            content.category_path.extend(path)
        elif self._categories:
            issues.add("CATEGORY_UNKNOWN", tag="categoryId", value=category_id)

    def _links(self, content: OfferContent, gathered: GatheredOffer, issues: IssueWriter) -> None:
        if "url" in gathered.texts:
            url = gathered.texts["url"]
            if link := absolute_link(url):
                content.url = link
            else:
                issues.add("URL_INVALID", tag="url", value=url)
        if gathered.pictures:
            content.picture_urls.extend(self._pictures(gathered.pictures, issues))

    def _pictures(self, texts: list[str], issues: IssueWriter) -> Iterable[str]:
        links: dict[str, None] = {}
        for nth, text in enumerate(texts, 1):
            if text.startswith("https://") and " " not in text and "|" not in text:
                links[text] = None
                continue
            for part in split_pictures(text):
                if link := absolute_link(part):
                    links[link] = None
                else:
                    issues.add("PICTURE_URL_INVALID", tag="picture", nth=nth, value=part)
        return links


def _place(content: OfferContent, offer: etree._Element, texts: dict[str, str], issues: IssueWriter) -> None:
    if "coordinates" in texts:
        latitude, _, longitude = texts["coordinates"].replace(";", ",").partition(",")
        meaning = "coordinates"
    else:
        latitude, longitude = texts["latitude"], texts.get("longitude", "")
        meaning = "latitude"
    found = point(latitude.strip(), longitude.strip())
    if found is None:
        value = f"{latitude.strip()}, {longitude.strip()}"
        issues.add("COORDINATES_INVALID", tag=tag_of(offer, meaning), value=value)
    else:
        content.location.latitude, content.location.longitude = found


_STATED_MESSAGES = ("price", "old_price", "location", "stock_quantity")
_STATED_VALUES = (
    "title", "description", "category_id", "category_path", "url", "address", "picture_urls", "attributes",
    "vendor", "vendor_code", "model", "barcodes",
)  # fmt: skip


def _named_fields(offer: etree._Element, content: OfferContent) -> list[str]:
    names = [field for field in _STATED_MESSAGES if content.HasField(field)]
    names += [field for field in _STATED_VALUES if getattr(content, field)]
    if offer.get("available") or offer.find("available") is not None:
        names.append("available")
    return names

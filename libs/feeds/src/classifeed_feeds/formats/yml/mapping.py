"""Mapping of a YML <offer> to an offer with its issues."""

from __future__ import annotations

from lxml import etree

from classifeed_feeds.formats.yml.names import NAMES
from classifeed_feeds.formats.yml.schema import SCHEMA, WORDS
from classifeed_feeds.formats.yml.tags import TABLE
from classifeed_feeds.mapping.extraction import GatheredOffer
from classifeed_feeds.mapping.listed_mapping import ListedMapping
from classifeed_feeds.mapping.offer_schema import OfferValidator
from classifeed_feeds.mapping.table_mapping import MappingOptions
from classifeed_feeds.scanning.scan import FeedScan
from classifeed_feeds.scanning.texts import join_title, says_something


class YmlMapping(ListedMapping):
    """Maps the offers of one YML file."""

    table = TABLE
    names = NAMES
    # The default of a file without <currencies>, according to Yandex's documentation.
    implied_currency = "RUB"

    def __init__(self, scan: FeedScan, options: MappingOptions) -> None:
        super().__init__(scan, options)
        self._validator = OfferValidator(SCHEMA, scan.child_tags, WORDS)

    def refuse(self, offer: etree._Element, children: list[etree._Element], /) -> frozenset[etree._Element]:
        """Return the elements that the schema rejects."""
        return self._validator.refuse(offer, children, self.issues)

    def check(self, gathered: GatheredOffer) -> None:
        """Use the sum of all outlets' stock if the offer itself has no stock."""
        if "stock_in_outlets" in gathered.texts:
            gathered.texts.setdefault("stock", gathered.texts["stock_in_outlets"])

    def find_title(self) -> str:
        """Return the name, or a title made of prefix, vendor and model; in a patch, only the name."""
        texts = self.texts
        model = texts.get("model", "")
        if (title := super().find_title()) or self.patch or not says_something(model):
            return title
        return join_title(texts.get("type_prefix", ""), texts.get("vendor", ""), model)

    def find_availability(self) -> str | None:
        """Return the offer's attribute `available`, or the element if the attribute is empty."""
        return self.offer.get("available") or self.texts.get("available")

    def note_availability(self, text: str) -> None:
        """Add an issue about an invalid attribute `available`, or about the element if there is no attribute."""
        if self.offer.get("available"):
            self.issues.add("FIELD_INVALID", field="available", value=text, expected=self.availability_words)
        else:
            super().note_availability(text)

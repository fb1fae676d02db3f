"""Mapping of an <offer> of our own format to an offer with its issues."""

from __future__ import annotations

from lxml import etree

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.formats.native.names import NAMES
from classifeed_feeds.formats.native.schema import SCHEMA, WORDS
from classifeed_feeds.formats.native.tags import TABLE
from classifeed_feeds.mapping.categories import split_path
from classifeed_feeds.mapping.listed_mapping import ListedMapping
from classifeed_feeds.mapping.offer_schema import OfferValidator
from classifeed_feeds.mapping.table_mapping import MappingOptions
from classifeed_feeds.scanning.scan import FeedScan


class NativeMapping(ListedMapping):
    """Maps the offers of one file."""

    table = TABLE
    names = NAMES
    currency_meaning = "price"
    availability_words = "true or false"

    def __init__(self, scan: FeedScan, options: MappingOptions) -> None:
        super().__init__(scan, options)
        self._validator = OfferValidator(SCHEMA, scan.child_tags, WORDS)

    def refuse(self, offer: etree._Element, children: list[etree._Element], /) -> frozenset[etree._Element]:
        """Return the elements that the schema rejects."""
        return self._validator.refuse(offer, children, self.issues)

    def put_category(self, content: OfferContent) -> None:
        """Set the category by its path if there is one, otherwise by its id."""
        if "category_path" not in self.texts:
            super().put_category(content)
            return
        content.category_id = self.texts.get("category", "")
        content.category_path.extend(split_path(self.texts["category_path"]))

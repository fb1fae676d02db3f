"""From one YML <offer> to the offer that is sent, with everything that is wrong with it."""

from __future__ import annotations

from classifeed_processor.feed.gathering import GatheredOffer
from classifeed_processor.feed.offer_schema import OfferValidator
from classifeed_processor.feed.scan import FeedScan
from classifeed_processor.feed.table_mapping import TableMapping
from classifeed_processor.feed.yml.names import NAMES
from classifeed_processor.feed.yml.schema import SCHEMA, WORDS
from classifeed_processor.feed.yml.tags import TABLE


class YmlMapping(TableMapping):
    """Maps the offers of one YML file."""

    table = TABLE
    names = NAMES
    put_price = TableMapping.put_plain_price
    put_category = TableMapping.put_listed_category

    def __init__(self, scan: FeedScan, patch: bool) -> None:
        super().__init__(scan, patch)
        self._validator = OfferValidator(SCHEMA, scan.child_tags, WORDS)

    def refuse(self) -> frozenset[tuple[str, int]]:
        """Returns the elements that the schema refuses."""
        return self._validator.refuse(self.offer, self.issues)

    def check(self, gathered: GatheredOffer) -> None:
        """Takes the stock of all outlets together where the offer names none as a whole."""
        if "stock_in_outlets" in gathered.texts:
            gathered.texts.setdefault("stock", gathered.texts["stock_in_outlets"])

    def find_title(self) -> str:
        """Returns the name, or else one made of prefix, vendor and model."""
        texts = self.texts
        title = texts.get("title", "")
        if not title and "model" in texts:
            parts = [texts[part] for part in ("type_prefix", "vendor") if part in texts]
            title = " ".join([*parts, texts["model"]]) if parts else ""
        return title

    def find_availability(self) -> str | None:
        """Returns the flag of the offer; an empty attribute says nothing."""
        return self.offer.get("available") or self.texts.get("available")

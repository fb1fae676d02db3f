"""First pass over YML: reads currencies and categories at any place in the shop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from classifeed_domain.currencies import read_currency
from classifeed_feeds.formats.yml.schema import SCHEMA
from classifeed_feeds.formats.yml.tags import DESCRIBING_TAGS
from classifeed_feeds.scanning.shape import IdRule, OfferShape
from classifeed_feeds.scanning.tree_scan import HeadElement, TreeScan


class YmlScan(TreeScan):
    """First pass over a YML file."""

    name = "yml"
    title = "YML"
    shape = OfferShape(
        # torg_price is Mail.ru's name of the same root.
        containers=(frozenset({"yml_catalog", "torg_price"}), frozenset({"shop"}), frozenset({"offers"})),
        offers=frozenset({"offer"}),
        ids=IdRule(attribute="id"),
    )
    describing_tags = DESCRIBING_TAGS

    def head_elements(self) -> Mapping[tuple[str, ...], HeadElement]:
        """Read the shop's currencies and categories."""
        return {
            ("shop", "currencies", "currency"): self._add_currency,
            ("shop", "categories", "category"): self._add_category,
        }

    def unknown_tags(self) -> Iterable[str]:
        """Return the tags that the schema does not list."""
        return SCHEMA.unknown_tags(self.child_tags)

    def head_warnings(self) -> list[str]:
        """Return a warning if the shop lists no categories."""
        if self.head.categories:
            return []
        return ["The shop lists no <categories>, so the categories of its offers cannot be checked or named."]

    def finish(self, skipped_lines: int) -> list[str]:
        """Take the only listed currency as the main one, then do the checks of all formats."""
        if not self.head.main_currency and len(self.head.currencies) == 1:
            (self.head.main_currency,) = self.head.currencies
        return super().finish(skipped_lines)

    def _add_currency(self, attributes: dict[str, str], _: str) -> None:
        code = read_currency(attributes.get("id", "").strip())
        if code is None:
            return
        self.head.currencies.add(code)
        if attributes.get("rate", "1").strip() in {"1", "1.0", "1.00"} and not self.head.main_currency:
            self.head.main_currency = code

    def _add_category(self, attributes: dict[str, str], name: str) -> None:
        parent_id = attributes.get("parentId") or attributes.get("parent_id") or ""
        self.head.add_category(attributes.get("id", ""), name, parent_id)

"""First pass over our own format: its version, and the seller's categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from classifeed_feeds.faults import FeedFault, shown
from classifeed_feeds.formats.native.schema import SCHEMA
from classifeed_feeds.formats.native.tags import DESCRIBING_TAGS
from classifeed_feeds.scanning.shape import IdRule, OfferShape
from classifeed_feeds.scanning.tree_scan import HeadElement, TreeScan

VERSION: Final = "1"
_SHOWN_CATEGORIES: Final = 20


class NativeScan(TreeScan):
    """First pass over a file of our own format."""

    name = "native"
    title = "the Classifeed format"
    shape = OfferShape(
        containers=(frozenset({"classifeed"}), frozenset({"offers"})),
        offers=frozenset({"offer"}),
        ids=IdRule(attribute="id"),
    )
    describing_tags = DESCRIBING_TAGS

    def open_root(self, attributes: dict[str, str], _namespaces: frozenset[str], /) -> None:
        """Check the version.

        Raises:
            FeedFault: STRUCTURE_WRONG.
        """
        version = attributes.get("version", "").strip()
        if version != VERSION:
            said = f"The file is of version {version}" if version else "<classifeed> does not say its version"
            raise FeedFault("STRUCTURE_WRONG", f'{said}; known is version="{VERSION}"')

    def head_elements(self) -> Mapping[tuple[str, ...], HeadElement]:
        """Read the seller's categories."""
        return {("categories", "category"): self._add_category}

    def unknown_tags(self) -> Iterable[str]:
        """Return the tags that the schema does not list."""
        return SCHEMA.unknown_tags(self.child_tags)

    def head_warnings(self) -> list[str]:
        """Return a warning about categories whose parent is not in the file."""
        if not (orphans := self.head.orphans()):
            return []
        known = self.head.categories
        named = [f"{shown(each)} (parent {shown(known[each].parent_id)})" for each in orphans[:_SHOWN_CATEGORIES]]
        more = f" and {len(orphans) - _SHOWN_CATEGORIES:,} more" if len(orphans) > _SHOWN_CATEGORIES else ""
        return [f"Categories whose parent is not listed were loaded as top-level ones: {', '.join(named)}{more}."]

    def _add_category(self, attributes: dict[str, str], name: str) -> None:
        self.head.add_category(attributes.get("id", ""), name, attributes.get("parent", ""))

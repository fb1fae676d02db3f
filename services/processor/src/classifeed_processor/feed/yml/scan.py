"""First pass over YML: counts offers and their tags, reads currencies and categories wherever they stand."""

from __future__ import annotations

from collections import defaultdict
from xml.parsers import expat

from classifeed_processor.domain.currencies import normalise_currency
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.limits import Limits
from classifeed_processor.feed.positions import PositionWriter
from classifeed_processor.feed.scan import Category, IdSink, ShopHead
from classifeed_processor.feed.yml.gather import DESCRIBING_TAGS
from classifeed_processor.feed.yml.schema import unknown_tags

MAX_ID_CHARS = 256
_MAX_NAME_CHARS = 200
_SHOWN_TAGS = 20
# Gaps between offers up to this size are indentation; larger ones count as content outside of offers.
_SMALL_GAP = 4_096
# Both </offer> and <offer/>, at whose beginning the parser stands when it reports the end.
_END_TAG_BYTES = 8


class YmlScan:
    """Sees every tag of a YML file once, in the first pass."""

    name = "yml"

    def __init__(self, ids: IdSink, positions: PositionWriter, limits: Limits) -> None:
        self._ids = ids
        self._positions = positions
        self._limits = limits
        self.offer_count = 0
        self.boundary = 0
        self.inside_offer = False
        self.head = ShopHead()
        self.child_tags: dict[str, int] = defaultdict(int)
        self._offers_seen = False
        self._shop_seen = False
        self._outside_bytes = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        """Sets the handlers; the root is open already."""
        depth = 1
        max_depth = self._limits.depth
        child_tags = self.child_tags
        shop = section = ""
        inside = False
        category: tuple[str, str] | None = None
        texts: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth, shop, section, category, inside
            depth += 1
            if depth == 5:
                if inside:
                    child_tags[name] += 1
            elif depth == 4:
                if section == "offers":
                    if name == "offer":
                        inside = True
                        self._begin_offer(parser.CurrentByteIndex, attributes)
                elif section == "categories" and name == "category":
                    parent = attributes.get("parentId") or attributes.get("parent_id") or ""
                    category = (attributes.get("id", "").strip(), parent.strip())
                    parser.CharacterDataHandler = texts.append
                elif section == "currencies" and name == "currency":
                    self._add_currency(attributes)
            elif depth == 3:
                section = name if shop else ""
                self._offers_seen |= section == "offers"
            elif depth == 2:
                shop = name if name == "shop" else ""
                self._shop_seen |= bool(shop)
            elif depth > max_depth:
                raise too_deep(parser, max_depth)

        def end(_: str) -> None:
            nonlocal depth, category, inside
            if depth == 4:
                if inside:
                    inside = False
                    self._end_offer(parser.CurrentByteIndex + _END_TAG_BYTES)
                elif category is not None:
                    parser.CharacterDataHandler = None
                    self._add_category(*category, "".join(texts))
                    category = None
                    texts.clear()
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def finish(self) -> list[str]:
        """Checks the containers and returns warnings for the file as a whole."""
        if not self._shop_seen:
            raise FeedFault("STRUCTURE_WRONG", "The file has no <shop> inside <yml_catalog>")
        if not self._offers_seen:
            raise FeedFault("STRUCTURE_WRONG", "The file has no <offers> inside <shop>")
        warnings = []
        if not self.offer_count:
            warnings.append("The file holds no offers.")
        elif not self.head.categories:
            warnings.append(
                "The shop lists no <categories>, so the categories of its offers cannot be checked or named."
            )
        if unknown := unknown_tags(self.child_tags):
            shown = ", ".join(f"<{tag}> ({self.child_tags[tag]:,} times)" for tag in unknown[:_SHOWN_TAGS])
            more = f" and {len(unknown) - _SHOWN_TAGS} more" if len(unknown) > _SHOWN_TAGS else ""
            warnings.append(f"Tags that YML does not know were left out: {shown}{more}.")
        return warnings

    @property
    def stock_only(self) -> bool:
        """Whether the offers have prices and stock and nothing that describes them."""
        return self.offer_count > 0 and DESCRIBING_TAGS.isdisjoint(self.child_tags)

    def _begin_offer(self, offset: int, attributes: dict[str, str]) -> None:
        gap = offset - self.boundary
        if gap > _SMALL_GAP:
            self._outside_bytes += gap
            if self._outside_bytes > self._limits.head_bytes:
                raise FeedFault("UNSAFE_XML", f"More than {self._limits.head_bytes:,} bytes stand outside of offers")
        self.inside_offer = True
        self.boundary = offset
        self.offer_count += 1
        external_id = attributes.get("id", "").strip()
        if 0 < len(external_id) <= MAX_ID_CHARS:
            self._ids.add(external_id, self.offer_count, offset)

    def _end_offer(self, offset: int) -> None:
        self._positions.add(self.boundary, offset)
        self.inside_offer = False
        self.boundary = offset

    def _add_currency(self, attributes: dict[str, str]) -> None:
        code = normalise_currency(attributes.get("id", "").strip())
        if code is None:
            return
        self.head.currencies.add(code)
        if attributes.get("rate", "1").strip() in {"1", "1.0", "1.00"} and not self.head.main_currency:
            self.head.main_currency = code

    def _add_category(self, category_id: str, parent_id: str, name: str) -> None:
        if category_id:
            self.head.categories.setdefault(category_id, Category(" ".join(name.split())[:_MAX_NAME_CHARS], parent_id))


def too_deep(parser: expat.XMLParserType, max_depth: int) -> FeedFault:
    """Returns the fault for elements nested beyond the limit, at the parser's place."""
    return FeedFault("UNSAFE_XML", f"Elements are nested more than {max_depth} deep", line=parser.CurrentLineNumber)

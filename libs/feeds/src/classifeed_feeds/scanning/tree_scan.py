"""First pass over an XML format: counts offers and their tags, collects ids, and reads the head at any place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar
from xml.parsers import expat

from classifeed_common.errors import times
from classifeed_feeds.faults import FeedFault, shown
from classifeed_feeds.scanning.scan import IdSink, ShopHead
from classifeed_feeds.scanning.shape import MAX_ID_CHARS, OfferShape
from classifeed_feeds.scanning.unexpected_elements import StrayTags
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.parsed_bytes import ParsedBytes
from classifeed_feeds.source.positions import PositionWriter

HeadElement = Callable[[dict[str, str], str], None]
_Handlers = tuple[Callable[[str, dict[str, str]], None], Callable[[str], None]]

_SHOWN_TAGS = 20
# Gaps between offers up to this size are indentation; larger ones count as content outside of offers.
_SMALL_GAP = 4_096


class TreeScan:
    """Base of the formats' scans. A format defines its structure and the elements it reads outside of offers.

    Attributes:
        name: Name of the format.
        title: Name for people.
        shape: Structure of the format.
        describing_tags: Elements that describe offers; a file without any of them only updates prices and stock.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    shape: ClassVar[OfferShape]
    describing_tags: ClassVar[frozenset[str]]

    def __init__(self, ids: IdSink, positions: PositionWriter, limits: Limits) -> None:
        self._ids = ids
        self._positions = positions
        self._limits = limits
        self.offer_count = 0
        self.boundary = 0
        self.inside_offer = False
        self.head = ShopHead()
        self.child_tags: dict[str, int] = defaultdict(int)
        self._root = ""
        self._containers_seen = 1
        self._strays = StrayTags()
        self._outside_bytes = 0
        self._outside_elements = 0
        self._external_id = ""
        self._id_rank = 0

    def open_root(self, attributes: dict[str, str], namespaces: frozenset[str], /) -> None:
        """Check the root's attributes and declared namespaces.

        Raises:
            FeedFault: STRUCTURE_WRONG.
        """

    def head_elements(self) -> Mapping[tuple[str, ...], HeadElement]:
        """Return the readers of elements outside of offers, by path below the root; they get attributes and text."""
        return {}

    def unknown_tags(self) -> Iterable[str]:
        """Return, sorted, the tags of offers that the format does not know, in expat's notation."""
        return ()

    def show_tag(self, tag: str) -> str:
        """Return a tag of `unknown_tags` for messages."""
        return tag.rpartition(" ")[2]

    def is_stray(self, _name: str, /) -> bool:
        """Return whether an element among the offers that is not an offer is unexpected there."""
        return True

    def head_warnings(self) -> list[str]:
        """Return warnings about the head. Called at the end of a file with offers."""
        return []

    def attach(
        self,
        parser: expat.XMLParserType,
        root: str,
        attributes: dict[str, str],
        namespaces: frozenset[str],
        source: ParsedBytes,
    ) -> None:
        """Set the parser's handlers; the root is open already."""
        self._source = source
        self._root = root
        self.open_root(attributes, namespaces)
        self._outside = self._outside_handlers(parser)
        self._inside = self._inside_handlers(parser)
        parser.StartElementHandler, parser.EndElementHandler = self._outside

    def finish(self, skipped_lines: int) -> list[str]:
        """Check the containers and their content, and return warnings for the file as a whole.

        Args:
            skipped_lines: Number of line breaks before the content.

        Raises:
            FeedFault: STRUCTURE_WRONG.
        """
        containers = self.shape.containers
        if self._containers_seen < len(containers):
            parent = _local(containers[self._containers_seen - 1]) if self._containers_seen > 1 else self._root
            missing = _local(containers[self._containers_seen])
            raise FeedFault("STRUCTURE_WRONG", f"The file has no <{missing}> inside <{parent}>")
        stray = self._strays.first()
        if stray is not None and not self.offer_count:
            parent, awaited = _local(containers[-1]), _local(self.shape.offers)
            reason = f"<{parent}> holds <{self._show_stray(stray[0])}> and no <{awaited}>; only <{awaited}> is an offer"
            raise FeedFault("STRUCTURE_WRONG", reason, line=stray[1] + skipped_lines)
        warnings = self.head_warnings() if self.offer_count else ["The file has no offers."]
        if stray is not None:
            warnings.append(self._strays.warning(self._show_stray, skipped_lines))
        if unknown := list(self.unknown_tags()):
            counted = [
                f"<{shown(self.show_tag(tag))}> ({times(self.child_tags[tag])})" for tag in unknown[:_SHOWN_TAGS]
            ]
            more = f" and {len(unknown) - _SHOWN_TAGS} more" if len(unknown) > _SHOWN_TAGS else ""
            warnings.append(f"Tags that {self.title} does not know were left out: {', '.join(counted)}{more}.")
        return warnings

    @property
    def stock_only(self) -> bool:
        """Whether the offers have only prices and stock, and no element that describes them."""
        return self.offer_count > 0 and self.describing_tags.isdisjoint(self.child_tags)

    def _show_stray(self, name: str) -> str:
        namespace, _, local = name.rpartition(" ")
        if local == _local(self.shape.offers):
            # The tag is right, but its namespace is wrong.
            return f'{local} xmlns="{shown(namespace)}"'
        return shown(self.show_tag(name))

    def _outside_handlers(self, parser: expat.XMLParserType) -> _Handlers:
        containers, offers = self.shape.containers, self.shape.offers
        id_attribute, max_depth = self.shape.ids.attribute, self._limits.depth
        max_elements = self._limits.head_elements
        head_elements = self.head_elements()
        head_depths = frozenset(map(len, head_elements))
        path: list[str] = []
        # Number of open nested containers, from the root on.
        matched = 1
        reading: tuple[HeadElement, dict[str, str], int] | None = None
        text = _Text(parser, self._limits.text_chars)

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal matched, reading
            depth = len(path) + 1
            self._outside_elements += 1
            if depth == matched:
                if depth == len(containers):
                    if name in offers:
                        self._begin_offer(parser.CurrentByteIndex, attributes.get(id_attribute, ""))
                        parser.StartElementHandler, parser.EndElementHandler = self._inside
                        return
                    if self.is_stray(name):
                        self._strays.add(name, lambda: parser.CurrentLineNumber)
                elif name in containers[depth]:
                    matched += 1
                    self._containers_seen = max(self._containers_seen, matched)
            if depth >= max_depth:
                raise too_deep(parser, max_depth)
            if self._outside_elements > max_elements:
                raise _too_many(parser, f"More than {max_elements:,} elements are between two offers")
            path.append(name)
            if reading is None and depth in head_depths and (reader := head_elements.get(tuple(path))) is not None:
                reading = reader, attributes, depth
                text.begin()

        def end(_: str) -> None:
            nonlocal matched, reading
            depth = len(path)
            if reading is not None and reading[2] == depth:
                reading[0](reading[1], text.end())
                reading = None
            if path:
                path.pop()
                matched = min(matched, depth)

        return start, end

    def _inside_handlers(self, parser: expat.XMLParserType) -> _Handlers:
        child_tags, ranks = self.child_tags, self.shape.ids.ranks
        has_ids = bool(ranks)
        max_depth = self._limits.depth - len(self.shape.containers) - 1
        max_elements = self._limits.element_count
        depth = elements = 0
        rank = -1
        text = _Text(parser, self._limits.text_chars)

        def start(name: str, _: dict[str, str]) -> None:
            nonlocal depth, elements, rank
            depth += 1
            elements += 1
            if depth == 1:
                child_tags[name] += 1
                if has_ids and ranks.get(name, self._id_rank) < self._id_rank:
                    rank = ranks[name]
                    text.begin()
            elif depth > max_depth:
                raise too_deep(parser, self._limits.depth)
            if elements > max_elements:
                raise _too_many(parser, f"One offer has more than {max_elements:,} elements")

        def end(_: str) -> None:
            nonlocal depth, elements, rank
            if depth == 0:
                at = parser.CurrentByteIndex
                self._end_offer(self._source.end_of_element(self.boundary, at, is_childless=not elements))
                elements = 0
                parser.StartElementHandler, parser.EndElementHandler = self._outside
                return
            if depth == 1 and rank >= 0:
                if external_id := text.end().strip():
                    self._external_id, self._id_rank = external_id, rank
                rank = -1
            depth -= 1

        return start, end

    def _begin_offer(self, offset: int, external_id: str) -> None:
        gap = offset - self.boundary
        if gap > _SMALL_GAP:
            self._outside_bytes += gap
            if self._outside_bytes > self._limits.head_bytes:
                raise FeedFault("UNSAFE_XML", f"More than {self._limits.head_bytes:,} bytes are outside of offers")
        self.inside_offer = True
        self.boundary = offset
        self._outside_elements = 0
        self.offer_count += 1
        if self.offer_count > self._limits.offers:
            raise FeedFault("FILE_TOO_LARGE", f"The file has more than {self._limits.offers:,} offers")
        self._id_rank = len(self.shape.ids.ranks)
        self._external_id = external_id.strip()
        if self._external_id:
            self._note_id()

    def _note_id(self) -> None:
        if 0 < len(self._external_id) <= MAX_ID_CHARS:
            self._ids.add(self._external_id, self.offer_count, self.boundary)

    def _end_offer(self, offset: int) -> None:
        if self.shape.ids.ranks:
            self._note_id()
        self._positions.add(self.boundary, offset)
        self.inside_offer = False
        self.boundary = offset


class _Text:
    """Collects the text of one element piece by piece."""

    def __init__(self, parser: expat.XMLParserType, limit: int) -> None:
        self._parser = parser
        self._limit = limit
        self._pieces: list[str] = []
        self._chars = 0

    def begin(self) -> None:
        """Begin to collect."""
        self._parser.CharacterDataHandler = self._add

    def end(self) -> str:
        """Stop collecting, and return the text."""
        self._parser.CharacterDataHandler = None
        text = "".join(self._pieces)
        self._pieces.clear()
        self._chars = 0
        return text

    def _add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._chars += len(piece)
        if self._chars > self._limit:
            reason = f"One id, or one name in the head of the file, has more than {self._limit:,} characters"
            raise FeedFault("UNSAFE_XML", reason, line=self._parser.CurrentLineNumber)


def too_deep(parser: expat.XMLParserType, max_depth: int) -> FeedFault:
    """Return the fault for elements that are nested too deeply, at the parser's position."""
    return FeedFault("UNSAFE_XML", f"Elements are nested more than {max_depth} deep", line=parser.CurrentLineNumber)


def _too_many(parser: expat.XMLParserType, reason: str) -> FeedFault:
    return FeedFault("UNSAFE_XML", reason, line=parser.CurrentLineNumber)


def _local(names: frozenset[str]) -> str:
    return min(names).rpartition(" ")[2]

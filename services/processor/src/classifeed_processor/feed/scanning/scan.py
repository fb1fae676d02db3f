"""What the first pass learns of a file, and what a format plug-in must give it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from classifeed.feeds.v1 import load_pb2
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.scanning.duplicates import DuplicateIds
from classifeed_processor.feed.scanning.texts import unescape_once
from classifeed_processor.feed.source.limits import Limits
from classifeed_processor.feed.source.opening import Opening
from classifeed_processor.feed.source.parsed_bytes import ParsedBytes
from classifeed_processor.feed.source.positions import PositionWriter
from classifeed_processor.feed.source.source import SourceFile

_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Category:
    """A category of the shop's own list."""

    name: str
    parent_id: str


@dataclass(slots=True)
class ShopHead:
    """What a file says of the shop as a whole, wherever in the file it says so.

    Attributes:
        currencies: ISO codes that the shop lists.
        main_currency: The one with rate 1; empty when there is none.
        categories: By the shop's category id; empty when the shop lists none.
    """

    currencies: set[str] = field(default_factory=set)
    main_currency: str = ""
    categories: dict[str, Category] = field(default_factory=dict)

    def add_category(self, category_id: str, name: str, parent_id: str) -> None:
        """Take a category; the first one with an id counts."""
        if category_id := category_id.strip():
            category = Category(" ".join(unescape_once(name).split())[:_MAX_NAME_CHARS], parent_id.strip())
            self.categories.setdefault(category_id, category)

    def orphans(self) -> list[str]:
        """Return, in order, the ids of categories whose parent is not listed."""
        known = self.categories
        return [each for each, category in known.items() if category.parent_id and category.parent_id not in known]


@dataclass(frozen=True, slots=True)
class FeedScan:
    """A file that is well-formed to its end and has the parts that its format needs.

    Attributes:
        source: The file.
        opening: How its characters are read.
        encoding: Encoding that is forced on the parser.
        format: Name of the format plug-in.
        head: What the file says of the shop.
        offer_count: Offers in the file.
        child_tags: How often each element occurs straight under an offer.
        stock_only: Whether it has prices and stock and nothing that describes an offer.
        duplicates: Which ids stood before.
        positions: File with the byte range of each offer.
        content_bytes: Size after unpacking.
        has_entities: Whether an offer may be longer than its source, by texts that the file declares once.
        is_self_contained: Whether the source of an offer says all of it: no namespaces, and no texts, attributes or
            encodings that are declared elsewhere in the file.
        warnings: What the seller should know of the file as a whole.
    """

    source: SourceFile
    opening: Opening
    encoding: str
    format: str
    head: ShopHead
    offer_count: int
    child_tags: Mapping[str, int]
    stock_only: bool
    duplicates: DuplicateIds
    positions: Path
    content_bytes: int
    has_entities: bool
    is_self_contained: bool
    warnings: tuple[str, ...]


class OtherFormat(Exception):
    """A file has the root of a format and is another one.

    Attributes:
        what: What it is, in words.
        advice: What would make the format of it, as a sentence without its full stop.
    """

    def __init__(self, what: str, advice: str) -> None:
        self.what = what
        self.advice = advice
        super().__init__(what)


class IdSink(Protocol):
    """Takes the ids of a file as the first pass comes by them."""

    def add(self, external_id: str, ordinal: int, offset: int, /) -> None:
        """Take a usable id: that of the offer at this position, from 1, which begins at this byte of the content."""


class FormatScan(Protocol):
    """The first pass of one format: it sees every tag, counts offers and reads the head.

    Attributes:
        offer_count: Offers so far.
        boundary: Byte offset where the last offer began or ended.
        inside_offer: Whether an offer is open.
    """

    offer_count: int
    boundary: int
    inside_offer: bool
    head: ShopHead
    child_tags: dict[str, int]

    @property
    def name(self) -> str:
        """Name of the format."""

    def attach(
        self,
        parser: expat.XMLParserType,
        root: str,
        attributes: dict[str, str],
        namespaces: frozenset[str],
        source: ParsedBytes,
    ) -> None:
        """Set the parser's handlers. Called inside the root's start tag.

        Args:
            parser: The parser, with the root open.
            root: Name of the root, without its namespace.
            attributes: Those of the root.
            namespaces: Those that the root declares.
            source: The bytes that the parser is at.

        Raises:
            FeedFault: STRUCTURE_WRONG.
        """

    @property
    def stock_only(self) -> bool:
        """Whether the file updates prices and stock and describes nothing."""

    def finish(self, skipped_lines: int, /) -> list[str]:
        """Check that the file had the parts it needs, and return warnings for the whole file.

        Args:
            skipped_lines: Line breaks before the content, to be added to every line number.

        Raises:
            FeedFault: STRUCTURE_WRONG.
            OtherFormat: The root is that of the format, and what is inside is another.
        """


ScanFactory = Callable[[IdSink, PositionWriter, Limits], FormatScan]


def require_mode(scan: FeedScan, mode: load_pb2.LoadMode) -> None:
    """Refuses a file that would do in this mode what nobody wants.

    Raises:
        FeedFault: STOCK_ONLY for an update of prices and stock that is loaded as the whole feed.
    """
    if scan.stock_only and mode != load_pb2.LOAD_MODE_PATCH:
        raise FeedFault(
            "STOCK_ONLY", f"None of the {scan.offer_count:,} offers has a name: the file holds prices and stock only"
        )

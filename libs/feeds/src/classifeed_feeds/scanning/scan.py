"""Result of the first pass over a file, and the interface of a format's scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from classifeed.feeds.v1 import load_pb2
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.scanning.duplicates import DuplicateIds
from classifeed_feeds.scanning.texts import unescape_once
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.opening import Opening
from classifeed_feeds.source.parsed_bytes import ParsedBytes
from classifeed_feeds.source.positions import PositionWriter
from classifeed_feeds.source.source import SourceFile

_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Category:
    """A category of the shop's own list."""

    name: str
    parent_id: str


@dataclass(slots=True)
class ShopHead:
    """Data of the shop as a whole, from any place in the file.

    Attributes:
        currencies: ISO codes that the shop lists.
        main_currency: Currency with rate 1; empty: there is none.
        categories: Categories by the shop's id; empty: the shop lists none.
    """

    currencies: set[str] = field(default_factory=set)
    main_currency: str = ""
    categories: dict[str, Category] = field(default_factory=dict)

    def add_category(self, category_id: str, name: str, parent_id: str) -> None:
        """Add a category; if an id is repeated, the first one counts."""
        if category_id := category_id.strip():
            category = Category(" ".join(unescape_once(name).split())[:_MAX_NAME_CHARS], parent_id.strip())
            self.categories.setdefault(category_id, category)

    def orphans(self) -> list[str]:
        """Return the ids of categories whose parent is not listed, in their order."""
        known = self.categories
        return [each for each, category in known.items() if category.parent_id and category.parent_id not in known]


@dataclass(frozen=True, slots=True)
class FeedScan:
    """A file that is well-formed to its end and has the parts that its format needs.

    Attributes:
        source: The file.
        opening: Beginning and declared encoding of the content.
        encoding: Encoding that is set for the parser.
        format: Name of the format plug-in.
        head: Data of the shop.
        offer_count: Number of offers in the file.
        child_tags: Number of occurrences of each child element of offers.
        stock_only: Whether the file has only prices and stock, and no element that describes an offer.
        duplicates: Repeated ids.
        positions: File with the byte range of each offer.
        content_bytes: Size after unpacking, in bytes.
        has_entities: Whether an offer may be longer than its source, because the file declares entities.
        is_self_contained: Whether the source of an offer is complete: no namespaces, and no texts, attributes or
            encodings that are declared elsewhere in the file.
        warnings: Warnings for the seller about the file as a whole.
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
    """A file has the root of a format but is of another format.

    Attributes:
        what: Description of its format.
        advice: How to convert it, as a sentence without its full stop.
    """

    def __init__(self, what: str, advice: str) -> None:
        self.what = what
        self.advice = advice
        super().__init__(what)


class IdSink(Protocol):
    """Receives the ids of a file from the first pass."""

    def add(self, external_id: str, ordinal: int, offset: int, /) -> None:
        """Add a usable id with its offer's number, from 1, and the offer's first byte in the content."""


class FormatScan(Protocol):
    """The first pass of one format: it sees every tag, counts offers and reads the head.

    Attributes:
        offer_count: Number of offers so far.
        boundary: Byte offset of the last beginning or end of an offer.
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
            attributes: Attributes of the root.
            namespaces: Namespaces that the root declares.
            source: Bytes at the parser's position.

        Raises:
            FeedFault: STRUCTURE_WRONG.
        """

    @property
    def stock_only(self) -> bool:
        """Whether the file only updates prices and stock, without a description of any offer."""

    def finish(self, skipped_lines: int, /) -> list[str]:
        """Check that the file has all required parts, and return warnings for the whole file.

        Args:
            skipped_lines: Number of line breaks before the content, which is added to every line number.

        Raises:
            FeedFault: STRUCTURE_WRONG.
            OtherFormat: The root is that of the format, but the content is of another format.
        """


ScanFactory = Callable[[IdSink, PositionWriter, Limits], FormatScan]


def require_mode(scan: FeedScan, mode: load_pb2.LoadMode) -> None:
    """Check that a file may be loaded in a mode.

    Raises:
        FeedFault: STOCK_ONLY, an update of prices and stock is loaded as the whole feed.
    """
    if scan.stock_only and mode != load_pb2.LOAD_MODE_PATCH:
        raise FeedFault(
            "STOCK_ONLY", f"None of the {scan.offer_count:,} offers has a name: the file holds prices and stock only"
        )

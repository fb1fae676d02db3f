"""The configuration of lxml for feeds: it never fetches anything outside of the file, and repairs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.scanning.shape import OfferShape
from classifeed_feeds.source.entities import entity_of_libxml2, undefined_entity
from classifeed_feeds.source.source import ByteStream

# recover is off: it silently drops a bare &, accepts truncated files and reorders offers.
_OPTIONS: Final[dict[str, Any]] = {
    "resolve_entities": "internal",
    "no_network": True,
    "load_dtd": False,
    "huge_tree": True,
    "remove_comments": True,
    "remove_pis": True,
    "recover": False,
}


class OfferParser:
    """Parses single offers of a file without entities and namespaces, with the same result as `iterate_offers`."""

    def __init__(self, encoding: str) -> None:
        self._parser = etree.XMLParser(encoding=encoding, **_OPTIONS)

    def parse(self, source: bytes) -> etree._Element:
        """Parse the source of an offer.

        Raises:
            lxml.etree.XMLSyntaxError: The source is not well-formed.
        """
        return etree.fromstring(source, self._parser)


def iterate_offers(stream: ByteStream, shape: OfferShape, encoding: str) -> Iterator[etree._Element]:
    """Yield each complete offer, in the file's order, and drop it when the next one is requested.

    Memory holds one offer and the content between two offers; the head of the file is dropped with the first one.

    Raises:
        lxml.etree.XMLSyntaxError: The content is not well-formed.
    """
    container: etree._Element | None = None
    tags = shape.offer_tags
    for _, element in etree.iterparse(stream, events=("end",), tag=tags, encoding=encoding, **_OPTIONS):
        parent = element.getparent()
        if parent is None or (parent is not container and not shape.is_container(parent)):
            continue
        if parent is not container:
            container = parent
            _drop_before(parent)
        yield element
        _drop(element)


def _drop(element: etree._Element) -> None:
    """Free a processed element and its preceding siblings."""
    element.clear(keep_tail=False)  # type: ignore[call-arg]  # the stubs are older than the argument
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:
            del parent[0]


def _drop_before(element: etree._Element) -> None:
    """Free all elements that ended before this one began."""
    parent = element.getparent()
    while parent is not None:
        while element.getprevious() is not None:
            del parent[0]
        element, parent = parent, parent.getparent()


def check_with_libxml2(stream: ByteStream, shape: OfferShape, encoding: str, skipped_lines: int) -> int:
    """Read the complete content as in the second pass, and return the number of offers.

    Raises:
        FeedFault: MALFORMED_XML, where libxml2 is stricter than expat.
    """
    try:
        return sum(1 for _ in iterate_offers(stream, shape, encoding))
    except etree.XMLSyntaxError as error:
        raise syntax_fault(error, skipped_lines) from error


def disagreement(first: int, second: int) -> FeedFault:
    """Return the fault of a file for which the parsers of the two passes disagree, so that neither can be trusted."""
    return FeedFault("UNSAFE_XML", f"One XML parser finds {first:,} offers in the file, and another one {second:,}")


def syntax_fault(error: etree.XMLSyntaxError, skipped_lines: int) -> FeedFault:
    """Convert an error of libxml2 to a fault of the file."""
    line, column = error.position
    words, fix = str(error.msg).partition(", line ")[0], ""
    if entity := entity_of_libxml2(words):
        words, fix = undefined_entity(entity)
    return FeedFault("MALFORMED_XML", words, line=(line or 0) + skipped_lines, column=column or 0, fix=fix)

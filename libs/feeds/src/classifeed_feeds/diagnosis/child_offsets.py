"""Positions of the elements within an offer's source; libxml2 reports only lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.parsers import expat


class LineColumn(NamedTuple):
    """A position in the file: line and column in characters, each from 1."""

    line: int
    column: int


def child_places(source: bytes, encoding: str) -> list[int]:
    """Return the offset of each child element of an offer, in bytes, as far as the source can be parsed.

    Comments, CDATA and deeper elements are skipped. It is slow, and only used for messages.

    Args:
        source: Source of the offer from its `<` on.
        encoding: Encoding of the source.
    """
    parser = expat.ParserCreate(encoding)
    # An entity that the file's head declares is unknown here, which is not a fault.
    parser.UseForeignDTD(True)
    depth = -1
    places: list[int] = []

    def start(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            places.append(parser.CurrentByteIndex)

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(source, False)
    except expat.ExpatError:
        return places
    return places


def places_in(source: bytes, encoding: str, begin: LineColumn, offsets: Iterable[int]) -> dict[int, LineColumn]:
    """Return line and column of some offsets in an offer's source, counted in one pass.

    Args:
        source: Source of the offer from its `<` on.
        encoding: Encoding of the source.
        begin: Position of the offer in the file.
        offsets: Offsets of bytes that begin a character, in any order.
    """
    line, column = begin
    done = 0
    found: dict[int, LineColumn] = {}
    for offset in sorted(set(offsets)):
        breaks = source.count(b"\n", done, offset)
        if breaks:
            line += breaks
            column = 1
            done = source.rindex(b"\n", done, offset) + 1
        column += len(source[done:offset].decode(encoding, "replace"))
        done = offset
        found[offset] = LineColumn(line, column)
    return found

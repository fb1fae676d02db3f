"""Where in the source of one offer its elements stand. libxml2 reports lines, and none of elements on the same line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.parsers import expat


class LineColumn(NamedTuple):
    """A place in the file: line and column in characters, each from 1."""

    line: int
    column: int


def child_places(source: bytes, encoding: str) -> list[int]:
    """Return the byte at which each element straight under the offer begins, as far as the source can be read.

    Comments, CDATA and elements further down are distinguished from them. Slow, for messages.

    Args:
        source: The offer from its `<` on.
        encoding: That of the source.
    """
    parser = expat.ParserCreate(encoding)
    # An entity that the file's head declares is unknown here, and no fault.
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
    """Return line and column of each of these bytes of an offer, counted in one pass over its source.

    Args:
        source: The offer from its `<` on.
        encoding: That of the source.
        begin: Where the offer begins.
        offsets: Bytes of the source that begin a character, in any order.
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

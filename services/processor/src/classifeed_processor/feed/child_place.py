"""Where in the source of one offer an element stands. libxml2 tells lines, and none of elements on the same line."""

from __future__ import annotations

from xml.parsers import expat


def find_child(source: bytes, index: int, encoding: str) -> int:
    """Returns the byte at which an element straight under the offer begins; 0 where it cannot be told.

    Comments, CDATA and elements further down are told apart from it. Slow, for messages.

    Args:
        source: The offer from its `<` on.
        index: Which of its elements, from 0.
        encoding: That of the source.
    """
    parser = expat.ParserCreate(encoding)
    # An entity that the file's head declares is unknown here, and no fault.
    parser.UseForeignDTD(True)
    depth = -1
    seen = -1
    found = 0

    def start(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth, seen, found
        depth += 1
        if depth == 1:
            seen += 1
            if seen == index:
                found = parser.CurrentByteIndex

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(source, False)
    except expat.ExpatError:
        return found
    return found

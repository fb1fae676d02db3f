"""Where in the source of one offer its elements stand. libxml2 tells lines, and none of elements on the same line."""

from __future__ import annotations

from xml.parsers import expat


def child_places(source: bytes, encoding: str) -> list[int]:
    """Return the byte at which each element straight under the offer begins, as far as the source can be read.

    Comments, CDATA and elements further down are told apart from them. Slow, for messages.

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

"""Elements of offers: those of lxml, and those read without a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from lxml import etree

_ATTRIBUTE: Final = re.compile(r"""[ \t\n]+([^\s=<>/"']+)="([^"]*)\"""")
_REFERENCE: Final = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]+)|#x([0-9a-fA-F]+));")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


# An element with text only: name, attributes as written in the file, text.
Row = tuple[str, str, str]


def resolve(text: str) -> str:
    """Return a text with its character references resolved, for a file that declares no entities."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def read_attributes(source: str) -> dict[str, str]:
    """Return the attributes of a start tag, with references resolved and line breaks replaced by blanks."""
    found: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(source):
        found[name] = resolve(value.replace("\n", " ").replace("\t", " "))
    return found


# Cached, because the parameters of many offers have the same attributes.
attributes_of = lru_cache(maxsize=4_096)(read_attributes)


def _character(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    return _NAMED[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16))


class PlainElement:
    """An element with text and no child elements; it has the part of lxml's interface that mappings use."""

    __slots__ = ("_attributes", "tag", "text")

    prefix: Final = None

    def __init__(self, row: Row) -> None:
        self.tag, self._attributes, self.text = row

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return an attribute, or the default."""
        return attributes_of(self._attributes).get(name, default)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[PlainElement]:
        return iter(())


class PlainOffer:
    """An offer that consists of plain elements.

    Attributes:
        rows: Elements of the offer, in their order.
    """

    __slots__ = ("_attributes", "_elements", "rows")

    def __init__(self, attributes: Mapping[str, str], rows: list[Row]) -> None:
        self._attributes = attributes
        self._elements: list[PlainElement] | None = None
        self.rows = rows

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return an attribute, or the default."""
        return self._attributes.get(name, default)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PlainElement]:
        if self._elements is None:  # the same objects each time, because issues refer to them
            self._elements = [PlainElement(row) for row in self.rows]
        return iter(self._elements)


FeedElement = etree._Element | PlainElement
FeedOffer = etree._Element | PlainOffer


class LocatedOffer(NamedTuple):
    """An offer and its position in the file.

    Attributes:
        element: The offer; an element of lxml is cleared when the next offer is read.
        ordinal: Number of the offer in the file, from 1.
        line: Line of its start tag in the file, from 1.
        start: Offset of its first byte in the content.
        end: Offset after its last byte.
        size_bytes: Size of its source, or of its texts with entities resolved if they are larger.
    """

    element: FeedOffer
    ordinal: int
    line: int
    start: int
    end: int
    size_bytes: int

"""Reads the sizes of the pages of a Parquet file from their headers, before any page is decoded.

The footer repeats these sizes, but may be wrong in a hostile file; Arrow allocates buffers by the headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from classifeed_pictures.domain.event_files import EventFileFault

FOOTER_LIMIT_BYTES: Final = 4 * 1024 * 1024
_TAIL_BYTES: Final = 8
_HEADER_BYTES: Final = 256
_HEADER_LIMIT_BYTES: Final = 1024 * 1024
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DELTA_BYTE_ARRAY: Final = 7
# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_DEPTH: Final = 8
_PAGES_LIMIT: Final = 100_000


class BrokenPages(Exception):
    """A header of a page cannot be read."""


class ChunkSizes(NamedTuple):
    """Sizes of the pages of a column in a row group, in bytes.

    Attributes:
        dictionary: size of the dictionary page; 0 if there is none.
        data: size of the largest data page.
        compressed: size of the largest page as stored.
        prefixed: size of the largest data page with a prefix encoding (DELTA_BYTE_ARRAY); 0 if there is none.
        plain: total size of all data pages.
    """

    dictionary: int = 0
    data: int = 0
    compressed: int = 0
    prefixed: int = 0
    plain: int = 0


def check_footer(file: BinaryIO) -> None:
    """Check that the footer is small enough to be read.

    Raises:
        EventFileFault: the footer is too large.
    """
    size_bytes = file.seek(0, 2)
    file.seek(max(size_bytes - _TAIL_BYTES, 0))
    footer_bytes = int.from_bytes(file.read(4), "little")
    if footer_bytes > FOOTER_LIMIT_BYTES and footer_bytes <= size_bytes:
        raise EventFileFault(
            f"has a footer of {footer_bytes} bytes; {FOOTER_LIMIT_BYTES} are allowed. Write larger row groups, or the "
            "needed columns alone"
        )


def chunk_sizes(file: BinaryIO, chunk: Any) -> ChunkSizes:
    """Return the sizes of the pages of a column chunk, as pyarrow describes the chunk.

    Raises:
        BrokenPages: a header of a page cannot be read.
        EventFileFault: there are too many pages.
    """
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    sizes = ChunkSizes()
    pages = _pages(file, start, start + chunk.total_compressed_size)
    for count, (kind, uncompressed, compressed, encoding) in enumerate(pages):
        if count == _PAGES_LIMIT:
            raise EventFileFault(f"has more than {_PAGES_LIMIT} pages of a column in a row group")
        sizes = sizes._replace(compressed=max(sizes.compressed, compressed))
        if kind == _DICTIONARY:
            sizes = sizes._replace(dictionary=max(sizes.dictionary, uncompressed))
        elif kind in {_DATA, _DATA_V2}:
            prefixed = uncompressed if encoding == _DELTA_BYTE_ARRAY else 0
            sizes = sizes._replace(
                data=max(sizes.data, uncompressed),
                prefixed=max(sizes.prefixed, prefixed),
                plain=sizes.plain + uncompressed,
            )
    return sizes


def _pages(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, uncompressed and compressed size, and encoding of each page."""
    while start < end:
        fields, used = _header(file, start, end)
        kind, uncompressed, compressed = (fields.get(number) for number in (1, 2, 3))
        if not (isinstance(kind, int) and isinstance(uncompressed, int) and isinstance(compressed, int)):
            raise _unreadable(start)
        if uncompressed < 0 or compressed < 0:
            raise _unreadable(start)
        head = fields.get({_DATA: 5, _DATA_V2: 8}.get(kind, 7), {})
        encoding = head.get(4 if kind == _DATA_V2 else 2, 0) if isinstance(head, dict) else 0
        yield kind, uncompressed, compressed, encoding
        start += used + compressed


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    size_bytes = _HEADER_BYTES
    while True:
        file.seek(start)
        reader = _Compact(file.read(min(size_bytes, end - start)))
        try:
            return reader.struct(), reader.at
        except IndexError as error:
            if size_bytes >= min(_HEADER_LIMIT_BYTES, end - start):
                raise _unreadable(start) from error
            size_bytes *= 16


def _unreadable(start: int) -> BrokenPages:
    return BrokenPages(f"there is no header of a page at byte {start}")


class _Compact:
    """Reads structures of Thrift's compact protocol; raises IndexError if the bytes end before the structure."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth + 1, in_field=True)
        return fields

    def _value(self, kind: int, depth: int, *, in_field: bool = False) -> Any:
        if depth > _DEPTH:
            raise IndexError
        if kind in {_TRUE, _FALSE}:
            return kind == _TRUE if in_field else self._byte() == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in {4, 5, 6}:
            return self._signed()
        if kind == _STRUCT:
            return self.struct(depth)
        if kind in {_DOUBLE, _BINARY}:
            length = 8 if kind == _DOUBLE else self._varint()
            self.at += length
            self._data[self.at - 1]
            return None
        if kind in {_LIST, _SET}:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._value(head & 15, depth + 1)
            return None
        raise IndexError  # a map or an unknown type, which no page header has

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

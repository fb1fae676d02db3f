"""The items of an AVIF file: which bytes are the picture, and its size."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from classifeed_imaging.containers.boxes import Box, find_box, list_boxes
from classifeed_imaging.containers.container import ends_early
from classifeed_imaging.faults import TOO_MANY_PIXELS, DecodeFailed, broken, unsupported
from classifeed_imaging.limits import Limits, check_size

_ITEMS: Final = 4096
_ALPHA: Final = (b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\x00", b"urn:mpeg:hevc:2015:auxid:1\x00")


@dataclass(slots=True)
class Item:
    """An item: its type, its boxes, byte ranges, properties and references."""

    kind: bytes = b""
    entry: Box | None = None
    extents: list[tuple[int, int]] = field(default_factory=list)
    properties: list[Box] = field(default_factory=list)
    # References from this item to others, by type.
    references: dict[bytes, list[int]] = field(default_factory=dict)


class ItemTable:
    """The box `meta` of a file, as far as it describes pictures.

    Raises:
        DecodeFailed: it is damaged, or uses features outside of AVIF.
    """

    def __init__(self, data: bytes, meta: Box) -> None:
        self._data = data
        self.items: dict[int, Item] = {}
        self.boxes = list_boxes(data, meta.body + 4, meta.end)
        self.idat = next((box for box in self.boxes if box.kind == b"idat"), None)
        self.property_boxes: list[Box] = []
        try:
            self._read()
        except (struct.error, IndexError):
            raise broken("The description of the AVIF is damaged.") from None

    def _read(self) -> None:
        for box in self.boxes:
            if box.kind == b"iinf":
                self._read_entries(box)
            elif box.kind == b"iloc":
                self._read_locations(box)
            elif box.kind == b"iref":
                self._read_references(box)
            elif box.kind == b"iprp":
                self._read_properties(box)

    def primary(self) -> int:
        """Return the id of the main item."""
        box = find_box(self.boxes, b"pitm")
        size = 2 if self._data[box.body] == 0 else 4
        return int.from_bytes(self._data[box.body + 4 : box.body + 4 + size], "big")

    def select(self, limits: Limits) -> tuple[int, int, set[int]]:
        """Return width and height of the picture, and the ids of its items: main item, tiles and alpha.

        Raises:
            DecodeFailed: it is too large, has no pixels, or is not coded with AV1.
        """
        primary = self.primary()
        colour = self._parts(primary)
        kept = set(colour)
        for number, item in self.items.items():
            if colour & set(item.references.get(b"auxl", ())) and any(self._is_alpha(box) for box in item.properties):
                kept |= self._parts(number)
        pixels = 0
        for number in kept:
            item = self.items[number]
            width, height = self._size(item, limits)
            if not item.extents:
                raise broken("The AVIF has a picture without bytes.")
            if number in colour and item.kind == b"av01":
                pixels += width * height
        if pixels > limits.pixels:
            raise DecodeFailed(
                TOO_MANY_PIXELS,
                f"The tiles of the AVIF have {pixels / 1e6:.0f} megapixels; at most {limits.pixels / 1e6:g} are "
                "accepted. Publish a smaller version.",
            )
        width, height = self._size(self.items[primary], limits)
        return width, height, kept

    def _parts(self, number: int) -> set[int]:
        item = self.items.get(number)
        if item is None or item.kind not in (b"av01", b"grid"):
            raise unsupported("This AVIF has a picture that is not coded with AV1.")
        if item.kind == b"av01":
            return {number}
        tiles = item.references.get(b"dimg", [])
        start, end = item.extents[0] if item.extents else (0, 0)
        rows, columns = self._data[start + 2 : end][:2] if end - start >= 8 else b"\x00\x00"
        if len(tiles) != (rows + 1) * (columns + 1):
            raise broken(f"The AVIF has {len(tiles)} tiles for a grid of {rows + 1} × {columns + 1}.")
        if any(self.items.get(tile, item).kind != b"av01" for tile in tiles):
            raise unsupported("This AVIF has tiles that are not coded with AV1.")
        return {number, *tiles}

    def _size(self, item: Item, limits: Limits) -> tuple[int, int]:
        sizes = [struct.unpack_from(">II", self._data, box.body + 4) for box in item.properties if box.kind == b"ispe"]
        if item.kind == b"grid" and item.extents:
            start, end = item.extents[0]
            wide = self._data[start + 1] & 1
            if end - start < (12 if wide else 8):
                raise ends_early(end)
            sizes.append(struct.unpack_from(">II" if wide else ">HH", self._data, start + 4))
        if not sizes:
            raise broken("The AVIF has no picture size.")
        for width, height in sizes:
            check_size(width, height, limits)
        return sizes[-1][0], sizes[-1][1]

    def _is_alpha(self, box: Box) -> bool:
        return box.kind == b"auxC" and self._data[box.body + 4 : box.end].startswith(_ALPHA)

    def _read_entries(self, box: Box) -> None:
        for entry in list_boxes(self._data, box.body + (6 if self._data[box.body] == 0 else 8), box.end):
            version = self._data[entry.body]
            if entry.kind != b"infe" or version not in (2, 3):
                raise broken("The AVIF has a damaged list of items.")
            number, _, kind = struct.unpack_from(">HH4s" if version == 2 else ">IH4s", self._data, entry.body + 4)
            item = self._item(number)
            item.kind, item.entry = kind, entry

    def _read_locations(self, box: Box) -> None:
        reader = _Reader(self._data, box.body, box.end)
        version = reader.number(1)
        reader.number(3)
        sizes = reader.number(2)
        offset_bytes, length_bytes, base_bytes = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15
        index_bytes = sizes & 15 if version else 0
        for _ in range(reader.number(2 if version < 2 else 4)):
            item = self._item(reader.number(2 if version < 2 else 4))
            method = reader.number(2) & 15 if version else 0
            reader.number(2)
            base = reader.number(base_bytes)
            for _ in range(reader.number(2)):
                reader.number(index_bytes)
                start = base + reader.number(offset_bytes)
                item.extents.append(self._locate(method, start, reader.number(length_bytes)))

    def _locate(self, method: int, start: int, length: int) -> tuple[int, int]:
        if method > 1 or (method == 1 and self.idat is None):
            raise unsupported("This AVIF refers to data within other items.")
        origin, end = (self.idat.body, self.idat.end) if method and self.idat else (0, len(self._data))
        if origin + start + length > end:
            raise ends_early(end)
        return origin + start, origin + start + length

    def _read_references(self, box: Box) -> None:
        size = 2 if self._data[box.body] == 0 else 4
        for entry in list_boxes(self._data, box.body + 4, box.end):
            reader = _Reader(self._data, entry.body, entry.end)
            source = self._item(reader.number(size))
            source.references.setdefault(entry.kind, []).extend(reader.number(size) for _ in range(reader.number(2)))

    def _read_properties(self, box: Box) -> None:
        children = list_boxes(self._data, box.body, box.end)
        container = find_box(children, b"ipco")
        self.property_boxes = list_boxes(self._data, container.body, container.end)
        for child in children:
            if child.kind == b"ipma":
                for number, index in self._associations(child):
                    if 0 < index <= len(self.property_boxes):
                        self._item(number).properties.append(self.property_boxes[index - 1])

    def _associations(self, box: Box) -> Iterator[tuple[int, int]]:
        reader = _Reader(self._data, box.body, box.end)
        version = reader.number(1)
        wide = reader.number(3) & 1
        for _ in range(reader.number(4)):
            number = reader.number(4 if version else 2)
            for _ in range(reader.number(1)):
                yield number, reader.number(2) & 0x7FFF if wide else reader.number(1) & 0x7F

    def _item(self, number: int) -> Item:
        if number not in self.items and len(self.items) >= _ITEMS:
            raise broken(f"The AVIF has more than {_ITEMS} items.")
        return self.items.setdefault(number, Item())


class _Reader:
    def __init__(self, data: bytes, position: int, end: int) -> None:
        self._data, self._position, self._end = data, position, end

    def number(self, size: int) -> int:
        if self._position + size > self._end:
            raise broken("The description of the AVIF is damaged.")
        self._position += size
        return int.from_bytes(self._data[self._position - size : self._position], "big")

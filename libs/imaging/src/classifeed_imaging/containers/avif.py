"""AVIF: items and tracks in boxes that are referred to by offset, so that removed parts are blanked in place."""

from __future__ import annotations

import struct
from typing import Final

from classifeed_imaging.containers.avif_items import Item, ItemTable
from classifeed_imaging.containers.avif_tracks import clean_tracks
from classifeed_imaging.containers.boxes import Box, blank, blank_between, find_box, keep_only, read_box
from classifeed_imaging.containers.container import Container, ends_early
from classifeed_imaging.faults import broken
from classifeed_imaging.limits import Limits, check_frames, check_memory

_TOP: Final = frozenset({b"ftyp", b"meta", b"moov", b"mdat"})
_IGNORED: Final = frozenset({b"free", b"skip", b"uuid", b"wide", b"jumb", b"sidx", b"styp", b"udta"})
_META: Final = frozenset({b"hdlr", b"pitm", b"iinf", b"iloc", b"iref", b"iprp", b"idat"})
_PROPERTIES: Final = frozenset(
    {b"ispe", b"pixi", b"colr", b"av1C", b"pasp", b"clap", b"irot", b"imir", b"auxC", b"a1op", b"a1lx", b"lsel"}
    | {b"clli", b"mdcv", b"cclv", b"amve"}
)
# libavif and Pillow keep the planes, a copy, and the picture.
_BYTES_PER_PIXEL: Final = 10


def read_avif(data: bytes, limits: Limits) -> Container:
    """Return the container with a file of the same size in which everything but the picture is blanked.

    The orientation is in the properties irot and imir, which are kept; EXIF is not needed for it.

    Raises:
        DecodeFailed: it is damaged, cut off, too large, or has more than pictures.
    """
    top = _list_top(data)
    end = max(box.end for box in top if box.kind in _TOP)
    out = bytearray(data[:end])
    meta = find_box(top, b"meta")
    table = ItemTable(data, meta)
    width, height, items = table.select(limits)
    kept = [extent for number in items for extent in table.items[number].extents]
    frames = 1
    movies = [box for box in top if box.kind == b"moov"]
    if movies:
        frames, samples = clean_tracks(data, out, find_box(movies, b"moov"), limits)
        kept += samples
    check_frames(frames, width, height, limits)
    check_memory("AVIF", width, height, _BYTES_PER_PIXEL, limits)
    if any(end_at > end for _, end_at in kept):
        raise ends_early(end)
    _clean_meta(data, out, table, items)
    keep_only(out, (box for box in top if box.start < end), _TOP)
    for box in [*(box for box in top if box.kind == b"mdat"), *([table.idat] if table.idat else [])]:
        blank_between(out, box, kept)
    return Container(width, height, frames, bytes(out))


def _list_top(data: bytes) -> list[Box]:
    boxes: list[Box] = []
    position = 0
    while position + 8 <= len(data):
        box = read_box(data, position, len(data)) if data[position + 4 : position + 8] in _TOP | _IGNORED else None
        if box is None:
            kind = data[position + 4 : position + 8]
            size = int.from_bytes(data[position : position + 4], "big")
            if not kind.isalnum() or size < 8 or position + size > len(data):
                break  # appended bytes that are no box
            box = read_box(data, position, len(data))
        if box.end > len(data):
            raise ends_early(len(data))
        boxes.append(box)
        position = box.end
    if not boxes or boxes[0].kind != b"ftyp":
        raise broken("The AVIF does not begin with its type.")
    return boxes


def _clean_meta(data: bytes, out: bytearray, table: ItemTable, kept: set[int]) -> None:
    handler = find_box(table.boxes, b"hdlr")
    if data[handler.body + 8 : handler.body + 12] != b"pict":
        raise broken("The AVIF does not describe pictures.")
    blank(out, handler.body + 24, handler.end)
    keep_only(out, table.boxes, _META)
    keep_only(out, table.property_boxes, _PROPERTIES)
    for number, item in table.items.items():
        _clean_entry(data, out, item, number in kept)


def _clean_entry(data: bytes, out: bytearray, item: Item, is_kept: bool) -> None:
    """Blank name and content type of an item; a removed item gets a type that no reader uses."""
    if item.entry is None:
        return
    kind_at = item.entry.body + (8 if data[item.entry.body] == 2 else 10)
    if not is_kept:
        struct.pack_into("4s", out, kind_at, b"free")
    blank(out, kind_at + 4, item.entry.end)

"""Boxes of the ISO base media file format, read and blanked in place."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from classifeed_imaging.containers.container import ends_early
from classifeed_imaging.faults import broken

# A limit, since many tiny boxes only cost time.
_BOXES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its type, the offset of its start, of its content and of its end."""

    kind: bytes
    start: int
    body: int
    end: int


def list_boxes(data: bytes | bytearray, start: int, end: int) -> list[Box]:
    """Return the boxes of a range.

    Raises:
        DecodeFailed: a box exceeds the range, or there are too many.
    """
    boxes = list(_iterate(data, start, end))
    if boxes and boxes[-1].end != end:
        raise broken(f"The AVIF is damaged at byte {boxes[-1].end}.")
    return boxes


def _iterate(data: bytes | bytearray, position: int, end: int) -> Iterator[Box]:
    count = 0
    while position + 8 <= end:
        box = read_box(data, position, end)
        if box.end > end:
            raise ends_early(position)
        yield box
        position, count = box.end, count + 1
        if count > _BOXES:
            raise broken(f"The AVIF has more than {_BOXES} boxes of one level.")


def read_box(data: bytes | bytearray, position: int, end: int) -> Box:
    """Return the box at a position; its end may lie behind the given one.

    Raises:
        DecodeFailed: it is smaller than its header.
    """
    size, kind = struct.unpack_from(">I4s", data, position)
    body = position + 8
    if size == 1:
        if position + 16 > end:
            raise ends_early(position)
        (size,) = struct.unpack_from(">Q", data, position + 8)
        body = position + 16
    elif size == 0:
        size = end - position
    if position + size < body:
        raise broken(f"The AVIF has a box of an impossible size at byte {position}.")
    return Box(kind, position, body, position + size)


def find_box(boxes: Iterable[Box], kind: bytes) -> Box:
    """Return the only box of a type.

    Raises:
        DecodeFailed: there is none, or more than one.
    """
    found = [box for box in boxes if box.kind == kind]
    if len(found) != 1:
        raise broken(f"The AVIF has {len(found)} boxes {kind.decode('ascii', 'replace')!r} where it needs one.")
    return found[0]


def blank(out: bytearray, start: int, end: int) -> None:
    """Overwrite a range with zeros."""
    out[start:end] = bytes(end - start)


def free(out: bytearray, box: Box) -> None:
    """Turn a box into free space of the same size."""
    out[box.start + 4 : box.start + 8] = b"free"
    blank(out, box.body, box.end)


def keep_only(out: bytearray, boxes: Iterable[Box], kinds: Collection[bytes]) -> None:
    """Turn all boxes into free space except those of the given types."""
    for box in boxes:
        if box.kind not in kinds:
            free(out, box)


def blank_between(out: bytearray, box: Box, kept: Iterable[tuple[int, int]]) -> None:
    """Overwrite the content of a box outside of the ranges that are kept."""
    position = box.body
    for start, end in sorted(kept):
        if end <= box.body or start >= box.end:
            continue
        if start > position:
            blank(out, position, start)
        position = max(position, min(end, box.end))
    blank(out, position, box.end)

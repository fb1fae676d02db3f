"""GIF: blocks, each a list of sub-blocks."""

from __future__ import annotations

import struct
from typing import Final

from classifeed_imaging.containers.container import Container, ends_early, take
from classifeed_imaging.faults import broken
from classifeed_imaging.limits import Limits, check_frames, check_memory, check_size

_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_GRAPHIC_CONTROL, _PLAIN_TEXT, _APPLICATION = 0xF9, 0x01, 0xFF
_LOOPS: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def read_gif(data: bytes, limits: Limits) -> Container:
    """Return the container with a file without comments, texts and application data.

    Raises:
        DecodeFailed: it is damaged, cut off, or too large.
    """
    width, height, flags = struct.unpack("<HHB", take(data, 6, 5))
    position = 13 + _table_bytes(flags)
    parts = [take(data, 0, position)]
    frames, control = 0, b""
    while True:
        kind = take(data, position, 1)[0]
        if kind == _TRAILER:
            break
        start = position
        if kind == _EXTENSION:
            label = take(data, position + 1, 1)[0]
            position = _skip_blocks(data, position + 2)
            if label == _GRAPHIC_CONTROL:
                control = _clean_control(data[start:position])
            elif label == _APPLICATION and data[start + 3 : start + 14] in _LOOPS and not frames:
                parts.append(_clean_loop(data[start:position]))
            elif label == _PLAIN_TEXT:
                control = b""
        elif kind == _IMAGE:
            left, top, across, down, local = struct.unpack("<HHHHB", take(data, position + 1, 9))
            # A frame that exceeds the picture makes it larger.
            width, height = max(width, left + across), max(height, top + down)
            check_size(across, down, limits)
            check_size(width, height, limits)
            frames += 1
            check_frames(frames, width, height, limits)
            # One byte per pixel, and three to seven more with a second frame or a colour table.
            check_memory("GIF", width, height, 5.5, limits)
            position = _skip_blocks(data, position + 10 + _table_bytes(local) + 1)
            parts += [control, data[start:position]]
            control = b""
        else:
            raise broken(f"The GIF is damaged at byte {position}.")
    if not frames:
        raise broken("The GIF has no picture in it.")
    return Container(width, height, frames, b"".join([*parts, b"\x3b"]))


def _table_bytes(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_blocks(data: bytes, position: int) -> int:
    try:
        while size := data[position]:
            position += size + 1
    except IndexError:
        raise ends_early(position) from None
    return position + 1


def _clean_control(block: bytes) -> bytes:
    """Return the graphic control extension with its only sub-block; empty if it is damaged."""
    return block[:7] + b"\x00" if len(block) >= 8 and block[2] == 4 else b""


def _clean_loop(block: bytes) -> bytes:
    """Return the loop count without other sub-blocks; empty if it is damaged."""
    return block[:18] + b"\x00" if len(block) >= 19 and block[2] == 11 and block[14:16] == b"\x03\x01" else b""

"""Reads and writes the orientation, the only EXIF value that is kept."""

from __future__ import annotations

import struct
from typing import Final

_ORIENTATION: Final = 0x0112
_SHORT: Final = 3


def read_orientation(tiff: bytes) -> int:
    """Return the orientation, 1 to 8, from the TIFF structure of EXIF; 1 if it has none or is damaged."""
    order = {b"II*\x00": "<", b"MM\x00*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 10:
        return 1
    (at,) = struct.unpack_from(order + "I", tiff, 4)
    if at + 2 > len(tiff):
        return 1
    (count,) = struct.unpack_from(order + "H", tiff, at)
    for entry in range(at + 2, min(at + 2 + 12 * count, len(tiff) - 11), 12):
        tag, kind, _, value = struct.unpack_from(order + "HHIH", tiff, entry)
        if tag == _ORIENTATION:
            return value if kind == _SHORT and 1 <= value <= 8 else 1
    return 1


def make_exif(orientation: int) -> bytes:
    """Return a TIFF structure with the orientation only."""
    return struct.pack("<4sIHHHIHHI", b"II*\x00", 8, 1, _ORIENTATION, _SHORT, 1, orientation, 0, 0)

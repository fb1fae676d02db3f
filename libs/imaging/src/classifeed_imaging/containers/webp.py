"""WebP: chunks in a RIFF file, and frames that are chunks of chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from classifeed_imaging.containers.container import Container, ends_early, take
from classifeed_imaging.containers.exif import make_exif, read_orientation
from classifeed_imaging.faults import broken
from classifeed_imaging.limits import Limits, check_frames, check_memory, check_size

_ICC, _ALPHA, _EXIF, _ANIMATION = 0x20, 0x10, 0x08, 0x02
_KEPT: Final = frozenset({b"ICCP", b"ANIM", b"ALPH", b"VP8 ", b"VP8L"})
_FRAME_PARTS: Final = frozenset({b"ALPH", b"VP8 ", b"VP8L"})
# libwebp and Pillow keep two canvases, a copy, and the picture.
_BYTES_PER_PIXEL: Final = 16


def read_webp(data: bytes, limits: Limits) -> Container:
    """Return the container with a file without metadata; of EXIF, the orientation is kept.

    Raises:
        DecodeFailed: it is damaged, cut off, or too large.
    """
    end = 8 + int.from_bytes(take(data, 4, 4), "little")
    if end > len(data):
        raise ends_early(len(data))
    canvas: tuple[int, int] | None = None
    flags, frames, orientation = 0, 0, 1
    still: tuple[int, int] | None = None
    kinds: set[bytes] = set()
    parts: list[bytes] = []
    for index, (kind, body) in enumerate(_chunks(data, 12, end)):
        if kind == b"VP8X" and index == 0:
            if len(body) < 10:
                raise broken("The header of the WebP is too short.")
            flags = body[0]
            canvas = (_three(body, 4) + 1, _three(body, 7) + 1)
            check_size(*canvas, limits)
        elif kind == b"ANMF":
            frames += 1
            check_frames(frames, *(canvas or (1, 1)), limits)
            parts.append(_chunk(kind, _clean_frame(body, canvas)))
        elif kind in _KEPT and kind not in kinds:
            if kind in (b"VP8 ", b"VP8L"):
                still = _frame_size(kind, body)
                check_size(*still, limits)
            kinds.add(kind)
            parts.append(_chunk(kind, body))
        elif kind == b"EXIF" and orientation == 1:
            orientation = read_orientation(body.removeprefix(b"Exif\x00\x00"))
    size = canvas or still
    if size is None or not (still or frames) or (frames and not (canvas and flags & _ANIMATION and b"ANIM" in kinds)):
        raise broken("The WebP has no picture in it.")
    if still and size != still:
        raise broken("The WebP has a picture whose size differs from its header.")
    check_memory("WebP", *size, _BYTES_PER_PIXEL, limits)
    if canvas is not None:
        kept = flags & (_ALPHA | _ANIMATION) | (_ICC if b"ICCP" in kinds else 0) | (_EXIF if orientation != 1 else 0)
        parts.insert(0, _chunk(b"VP8X", bytes([kept, 0, 0, 0]) + _put_three(size[0] - 1) + _put_three(size[1] - 1)))
        if orientation != 1:
            parts.append(_chunk(b"EXIF", make_exif(orientation)))
    clean = b"WEBP" + b"".join(parts)
    return Container(*size, max(1, frames), b"RIFF" + struct.pack("<I", len(clean)) + clean)


def _chunks(data: bytes, position: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while position < end - 7:
        kind, size = struct.unpack_from("<4sI", data, position)
        if position + 8 + size > end:
            raise ends_early(position)
        yield kind, data[position + 8 : position + 8 + size]
        position += 8 + size + size % 2


def _chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + b"\x00" * (len(body) % 2)


def _three(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 3], "little")


def _put_three(value: int) -> bytes:
    return value.to_bytes(3, "little")


def _frame_size(kind: bytes, body: bytes) -> tuple[int, int]:
    """Return the size in the compressed data, by which libwebp allocates memory."""
    if kind == b"VP8 " and len(body) >= 10 and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise broken("The WebP has damaged picture data.")


def _clean_frame(body: bytes, canvas: tuple[int, int] | None) -> bytes:
    if len(body) < 16 or canvas is None:
        raise broken("The WebP has a damaged frame.")
    left, top, width, height = 2 * _three(body, 0), 2 * _three(body, 3), _three(body, 6) + 1, _three(body, 9) + 1
    if left + width > canvas[0] or top + height > canvas[1]:
        raise broken("The WebP has a frame that exceeds the picture.")
    parts = [body[:16]]
    for kind, part in _chunks(body, 16, len(body)):
        if kind in (b"VP8 ", b"VP8L") and _frame_size(kind, part) != (width, height):
            raise broken("The WebP has a frame whose size differs from its header.")
        if kind in _FRAME_PARTS:
            parts.append(_chunk(kind, part))
    return b"".join(parts)

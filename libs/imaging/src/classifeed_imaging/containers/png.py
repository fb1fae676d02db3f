"""PNG and APNG: chunks with their checksums."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from classifeed_imaging.containers.container import Container, take
from classifeed_imaging.containers.exif import make_exif, read_orientation
from classifeed_imaging.faults import broken, unsupported
from classifeed_imaging.limits import Limits, check_frames, check_memory, check_size

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CRITICAL: Final = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
# Chunks for colours and frames. iCCP and eXIf are rewritten.
_KEPT: Final = frozenset(
    {b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"cICP", b"sBIT", b"bKGD", b"pHYs"}
    | {b"acTL", b"fcTL", b"fdAT"}
)
_DEPTHS: Final = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# The ICC profile of a printer may have 2 MB.
_PROFILE_BYTES: Final = 4 * 1024 * 1024


def read_png(data: bytes, limits: Limits) -> Container:
    """Return the container with a file without metadata; of EXIF, the orientation is kept.

    Raises:
        DecodeFailed: it is damaged, cut off, too large, or has unknown critical chunks.
    """
    position, frames, orientation = len(_SIGNATURE), 0, 1
    width = height = 0
    parts: list[bytes] = []
    has_pixels = has_first_frame = False
    while True:
        size, kind = struct.unpack(">I4s", take(data, position, 8))
        body = take(data, position + 8, size)
        (checksum,) = struct.unpack(">I", take(data, position + 8 + size, 4))
        if zlib.crc32(body, zlib.crc32(kind)) != checksum:
            raise broken(f"The PNG is damaged: a checksum does not fit at byte {position}.")
        position += 12 + size
        if not parts:
            width, height = _read_header(kind, body, limits)
            parts.append(_chunk(kind, body))
        elif kind in _KEPT:
            has_first_frame |= kind == b"fcTL" and not has_pixels
            frames += _count_frame(kind, body, (width, height))
            check_frames(frames, width, height, limits)
            has_pixels |= kind == b"IDAT"
            parts.append(_chunk(kind, body if kind != b"IEND" else b""))
            if kind == b"IEND":
                break
        elif kind == b"iCCP":
            parts.append(_clean_profile(body))
        elif kind == b"eXIf" and orientation == 1:
            orientation = read_orientation(body)
        elif not kind[0] & 0x20:
            raise unsupported(f"This PNG has a chunk {kind!r} that only some programs understand.")
    if not has_pixels:
        raise broken("The PNG has no picture in it.")
    if orientation != 1:
        parts.insert(1, _chunk(b"eXIf", make_exif(orientation)))
    # A first picture that is no frame is shown by programs without animations; Pillow counts it, too.
    still = 0 if has_first_frame or not frames else 1
    return Container(width, height, max(1, frames + still), _SIGNATURE + b"".join(parts))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))


def _read_header(kind: bytes, body: bytes, limits: Limits) -> tuple[int, int]:
    if kind == b"CgBI":
        raise unsupported("This is a PNG for iPhones (CgBI), which browsers do not show.")
    if kind != b"IHDR" or len(body) != 13:
        raise broken("The PNG does not begin with its header.")
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    check_size(width, height, limits)
    if depth not in _DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise broken("The header of the PNG has values that PNG does not know.")
    # Pillow needs four bytes per pixel.
    check_memory("PNG", width, height, 4.5, limits)
    return width, height


def _count_frame(kind: bytes, body: bytes, canvas: tuple[int, int]) -> int:
    if kind != b"fcTL":
        return 0
    if len(body) != 26:
        raise broken("The PNG has a damaged frame header.")
    _, width, height, left, top = struct.unpack_from(">IIIII", body)
    if not width or not height or left + width > canvas[0] or top + height > canvas[1]:
        raise broken("The PNG has a frame that exceeds the picture.")
    return 1


def _clean_profile(body: bytes) -> bytes:
    """Return the chunk without the name of the profile, which is free text; empty if it is damaged or huge."""
    _, _, compressed = body.partition(b"\x00")
    try:
        inflater = zlib.decompressobj()
        profile = inflater.decompress(compressed[1:], _PROFILE_BYTES)
    except zlib.error:
        return b""
    if not inflater.eof or compressed[:1] != b"\x00":
        return b""
    return _chunk(b"iCCP", b"ICC\x00\x00" + zlib.compress(profile))

"""JPEG: segments, and scans of entropy-coded data between them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Final

from classifeed_imaging.containers.container import Container, ends_early, take
from classifeed_imaging.containers.exif import make_exif, read_orientation
from classifeed_imaging.faults import broken, unsupported
from classifeed_imaging.limits import Limits, check_memory, check_size

_SOI: Final = b"\xff\xd8"
_EOI: Final = 0xD9
_SOS: Final = 0xDA
_BASELINE: Final = (0xC0, 0xC1)
_PROGRESSIVE: Final = 0xC2
_OTHER_CODINGS: Final = frozenset({0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCC, 0xCD, 0xCE, 0xCF, 0xDE, 0xDF})
# Tables that the pixels need: DHT, DQT, DRI.
_TABLES: Final = frozenset({0xC4, 0xDB, 0xDD})
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_APP0, _APP1, _APP2, _APP14 = 0xE0, 0xE1, 0xE2, 0xEE

# Patterns that begin with one literal byte are searched with memchr, which is much faster than \xff+.
_NEXT_MARKER: Final = re.compile(rb"\xff([\x01-\xfe])")
# Within a scan, FF 00 is a byte of data, and RST0 to RST7 belong to it.
_SCAN_END: Final = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")


@dataclass(slots=True)
class _Frame:
    width: int = 0
    height: int = 0
    components: int = 0
    # Samples per pixel, all components together: 3 for 4:4:4, 1.5 for 4:2:0.
    samples: float = 0
    scans: int = 0
    orientation: int = 1
    jfif: bytes = b""
    parts: list[bytes] = field(default_factory=list)


def read_jpeg(data: bytes, limits: Limits) -> Container:
    """Return the container with a file without metadata; kept are the EXIF orientation, ICC profiles and the Adobe
    segment.

    Raises:
        DecodeFailed: it is damaged, cut off, too large, or coded in a way that browsers do not show.
    """
    frame = _Frame()
    position = 2
    while True:
        # Bytes before a marker are skipped, as by libjpeg.
        found = _NEXT_MARKER.search(data, position)
        if found is None:
            raise ends_early(position)
        marker, position = found.group(1)[0], found.end()
        if marker == _EOI:
            break
        if marker in _ALONE:
            continue
        size = int.from_bytes(take(data, position, 2), "big")
        if size < 2:
            raise broken(f"The segment at byte {position} has an impossible length.")
        body = take(data, position + 2, size - 2)
        position += size
        _take_segment(frame, marker, body, limits)
        if marker == _SOS:
            end = _SCAN_END.search(data, position)
            if end is None:
                raise ends_early(len(data))
            frame.parts.append(data[position : end.start()])
            position = end.start()
    if not frame.scans:
        raise broken("The JPEG has no picture in it.")
    exif = _segment(_APP1, b"Exif\x00\x00" + make_exif(frame.orientation)) if frame.orientation != 1 else b""
    clean = b"".join([_SOI, frame.jfif, exif, *frame.parts, b"\xff\xd9"])
    return Container(frame.width, frame.height, 1, clean)


def _segment(marker: int, body: bytes) -> bytes:
    return b"\xff" + bytes([marker]) + (len(body) + 2).to_bytes(2, "big") + body


def _take_segment(frame: _Frame, marker: int, body: bytes, limits: Limits) -> None:
    if marker in _BASELINE or marker == _PROGRESSIVE:
        _take_frame_header(frame, body, limits)
    elif marker in _OTHER_CODINGS:
        raise unsupported("This JPEG has a lossless, hierarchical or arithmetic coding, which browsers do not show.")
    elif marker == _SOS:
        _take_scan_header(frame, body, limits)
    elif marker == _APP0 and body.startswith(b"JFIF\x00") and len(body) >= 12:
        # Density stays; the thumbnail goes.
        frame.jfif = frame.jfif or _segment(_APP0, body[:12] + b"\x00\x00")
        return
    elif marker == _APP1 and body.startswith(b"Exif\x00") and frame.orientation == 1:
        frame.orientation = read_orientation(body[6:])
        return
    elif not (
        marker in _TABLES
        or (marker == _APP2 and body.startswith(b"ICC_PROFILE\x00"))
        or (marker == _APP14 and body.startswith(b"Adobe"))
    ):
        return
    if marker == _APP14:
        body = body[:12]
    frame.parts.append(_segment(marker, body))


def _take_frame_header(frame: _Frame, body: bytes, limits: Limits) -> None:
    if frame.width:
        raise broken("The JPEG has two frame headers.")
    if len(body) < 6:
        raise broken("The frame header of the JPEG is too short.")
    precision, height, width, components = struct.unpack_from(">BHHB", body)
    if precision != 8:
        raise unsupported(f"This JPEG has {precision} bits per sample, which browsers do not show.")
    if components not in (1, 3, 4) or len(body) < 6 + 3 * components:
        raise broken(f"The JPEG has {components} components.")
    if not height:
        raise unsupported("This JPEG has no height in its header, which browsers do not show.")
    check_size(width, height, limits)
    factors = [(body[at] >> 4, body[at] & 15) for at in range(7, 7 + 3 * components, 3)]
    if not all(1 <= side <= 4 for pair in factors for side in pair):
        raise broken("The JPEG has impossible sampling factors.")
    area = max(across for across, _ in factors) * max(down for _, down in factors)
    frame.width, frame.height, frame.components = width, height, components
    frame.samples = sum(across * down for across, down in factors) / area


def _take_scan_header(frame: _Frame, body: bytes, limits: Limits) -> None:
    if not frame.width:
        raise broken("The JPEG has a scan before its frame header.")
    if not body or not 1 <= body[0] <= 4:
        raise broken("The JPEG has a damaged scan header.")
    frame.scans += 1
    if frame.scans > limits.scans:
        raise unsupported(f"This JPEG has more than {limits.scans} scans, each of which takes a pass over all pixels.")
    # One scan with all components is decoded row by row. Otherwise libjpeg keeps two bytes for each sample of the
    # picture at its full size, also when a smaller one is requested.
    if body[0] != frame.components or frame.scans > 1:
        check_memory("progressive JPEG", frame.width, frame.height, 2 * frame.samples, limits)

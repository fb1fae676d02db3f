"""Containers of picture formats, written byte by byte, with contents that no library would write."""

from __future__ import annotations

import struct
import zlib

PNG = b"\x89PNG\r\n\x1a\n"


def png_chunk(kind: bytes, body: bytes = b"", checksum: int | None = None) -> bytes:
    crc = zlib.crc32(kind + body) if checksum is None else checksum
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc)


def png_header(width: int, height: int, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    return png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def png(header: bytes, *middle: bytes, pixels: bytes) -> bytes:
    return PNG + header + b"".join(middle) + png_chunk(b"IDAT", pixels) + png_chunk(b"IEND")


def zeros(size: int) -> bytes:
    """Return compressed zeros, as repetitions of one block, since compressing a gigabyte would take seconds."""
    block = bytes(1024 * 1024)
    compressor = zlib.compressobj(9)
    first = compressor.compress(block) + compressor.flush(zlib.Z_FULL_FLUSH)
    head, body = first[:2], first[2:]
    tail = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    rest = tail.compress(bytes(size % len(block))) + tail.flush()
    adler = size % 65_521 << 16 | 1
    return head + body * (size // len(block)) + rest + struct.pack(">I", adler)


def jpeg_segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def insert_segment(jpeg: bytes, *segments: bytes) -> bytes:
    """Insert segments after the first marker of a JPEG."""
    return jpeg[:2] + b"".join(segments) + jpeg[2:]


def jpeg_header(width: int, height: int, marker: int = 0xC0, precision: int = 8, factors: int = 0x11) -> bytes:
    parts = b"".join(bytes([number, factors, 0]) for number in (1, 2, 3))
    return jpeg_segment(marker, struct.pack(">BHHB", precision, height, width, 3) + parts)


def replace_size(jpeg: bytes, width: int, height: int) -> bytes:
    """Replace the size in the frame header of a JPEG."""
    at = next(jpeg.find(bytes([0xFF, kind])) for kind in (0xC0, 0xC2) if jpeg.find(bytes([0xFF, kind])) > 0)
    return jpeg[: at + 5] + struct.pack(">HH", height, width) + jpeg[at + 9 :]


def riff(*chunks: bytes) -> bytes:
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def riff_chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def three(value: int) -> bytes:
    return value.to_bytes(3, "little")


def webp_header(width: int, height: int, flags: int) -> bytes:
    return riff_chunk(b"VP8X", bytes([flags, 0, 0, 0]) + three(width - 1) + three(height - 1))


def webp_frame(width: int, height: int, picture: bytes, left: int = 0) -> bytes:
    place = three(left // 2) + three(0) + three(width - 1) + three(height - 1)
    return riff_chunk(b"ANMF", place + three(40) + b"\x00" + picture)


def gif_header(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)


def gif_frame(width: int = 1, height: int = 1, codes: bytes = b"\x02\x02\x44\x01\x00") -> bytes:
    return b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + codes


def gif_extension(label: int, *blocks: bytes) -> bytes:
    return bytes([0x21, label]) + b"".join(bytes([len(block)]) + block for block in blocks) + b"\x00"


def box(kind: bytes, *body: bytes) -> bytes:
    content = b"".join(body)
    return struct.pack(">I", len(content) + 8) + kind + content


def full_box(kind: bytes, *body: bytes, version: int = 0, flags: int = 0) -> bytes:
    return box(kind, struct.pack(">I", version << 24 | flags), *body)


AVIF_TYPE = box(b"ftyp", b"avif", bytes(4), b"avifmif1miaf")


def avif_grid(rows: int, columns: int, size: tuple[int, int], tile: tuple[int, int], tiles: int) -> bytes:
    """Return an AVIF with a grid of tiles that share the same few bytes, which are no AV1."""
    entries = [full_box(b"infe", struct.pack(">HH4s", 1, 0, b"grid"), b"\x00", version=2)]
    entries += [full_box(b"infe", struct.pack(">HH4s", 2 + n, 0, b"av01"), b"\x00", version=2) for n in range(tiles)]
    grid = struct.pack(">BBBBII", 0, 1, rows - 1, columns - 1, *size)
    places = struct.pack(">HHHHII", 1, 1, 0, 1, 0, len(grid))
    places += b"".join(struct.pack(">HHHHII", 2 + n, 1, 0, 1, len(grid), 8) for n in range(tiles))
    sizes = box(b"ipco", *(full_box(b"ispe", struct.pack(">II", *each)) for each in (size, tile)))
    used = struct.pack(">I", tiles + 1) + struct.pack(">HBB", 1, 1, 1)
    used += b"".join(struct.pack(">HBB", 2 + n, 1, 2) for n in range(tiles))
    references = struct.pack(">HH", 1, tiles) + b"".join(struct.pack(">H", 2 + n) for n in range(tiles))
    return AVIF_TYPE + full_box(
        b"meta",
        full_box(b"hdlr", bytes(4), b"pict", bytes(13)),
        full_box(b"pitm", struct.pack(">H", 1)),
        full_box(b"iinf", struct.pack(">H", len(entries)), *entries),
        full_box(b"iloc", struct.pack(">HH", 0x4400, len(entries)), places, version=1),
        full_box(b"iref", box(b"dimg", references)),
        box(b"iprp", sizes, full_box(b"ipma", used)),
        box(b"idat", grid, bytes(8)),
    )

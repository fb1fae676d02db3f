"""Hostile and misleading files. Each is generated here, with the expected outcomes."""

from __future__ import annotations

import gzip
import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image

from . import raw
from .drawings import saved, texture

OK = ""
NOT = "PICTURE_NOT_A_PICTURE"
BROKEN = "PICTURE_BROKEN"
OTHER = "PICTURE_UNSUPPORTED"
PIXELS = "PICTURE_TOO_MANY_PIXELS"
FRAMES = "PICTURE_TOO_MANY_FRAMES"
MEMORY = "PICTURE_TOO_MUCH_MEMORY"
TIME = "PICTURE_DECODE_TIMEOUT"

CUTS = 20
# A function that makes the file, and the codes with which it may be refused.
Row = tuple[Callable[[], bytes], *tuple[str, ...]]


@dataclass(frozen=True)
class Hostile:
    """A file by name, and the codes with which it may be refused; with OK among them, it may be accepted."""

    name: str
    make: Callable[[], bytes]
    codes: tuple[str, ...]


@cache
def good(format_name: str) -> bytes:
    picture = texture(np.random.default_rng(3), 200, 150)
    return saved(picture, format_name.upper(), **({"speed": 10} if format_name == "avif" else {}))


@cache
def animated(format_name: str) -> bytes:
    frames = [texture(np.random.default_rng(seed), 64, 48) for seed in range(4)]
    return saved(frames[0], format_name.upper(), save_all=True, append_images=frames[1:], duration=50)


def every_hostile() -> Iterator[Hostile]:
    for table in (_PNG, _JPEG, _WEBP, _GIF, _AVIF, _OTHER):
        for name, (make, *codes) in table.items():
            yield Hostile(name, make, tuple(codes))
    for format_name in ("jpeg", "png", "webp", "gif", "avif"):
        for part in range(CUTS):
            yield Hostile(f"{format_name} cut at {part}/{CUTS}", _cutter(format_name, part), (BROKEN,))
    for format_name in ("png", "webp", "gif", "avif"):
        yield Hostile(f"animated {format_name} cut", _cut_animation(format_name), (BROKEN,))


def _cutter(format_name: str, part: int) -> Callable[[], bytes]:
    def cut() -> bytes:
        whole = good(format_name)
        return whole[: 16 + (len(whole) - 17) * part // (CUTS - 1)]

    return cut


def _cut_animation(format_name: str) -> Callable[[], bytes]:
    return lambda: animated(format_name)[:-40]


def _flat(width: int, height: int, format_name: str, **options: object) -> bytes:
    return saved(Image.new("RGB", (width, height), (90, 120, 30)), format_name, **options)


def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("payload.html", b"<script>alert(1)</script>" * 100)
    return buffer.getvalue()


SCRIPT = b"<!doctype html><html><script>alert(document.cookie)</script></html>"
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def many_scans(width: int, height: int, scans: int) -> bytes:
    """Return a progressive JPEG that repeats its last scan."""
    whole = _flat(width, height, "JPEG", progressive=True)
    start = whole.rfind(b"\xff\xda")
    return whole[:-2] + whole[start:-2] * scans + b"\xff\xd9"


def _png_text(size: int) -> bytes:
    text = raw.png_chunk(b"zTXt", b"Comment\x00\x00" + raw.zeros(size))
    return good("png")[:33] + text + good("png")[33:]


def _png_profile(size: int) -> bytes:
    return good("png")[:33] + raw.png_chunk(b"iCCP", b"x\x00\x00" + raw.zeros(size)) + good("png")[33:]


def _rows(width: int, height: int, bytes_per_pixel: int) -> bytes:
    return raw.zeros((width * bytes_per_pixel + 1) * height)


_PNG: dict[str, Row] = {
    "png of 49 megapixels with 16 bits and alpha": (
        lambda: raw.png(raw.png_header(7000, 7000, 16, 6), pixels=_rows(7000, 7000, 8)),
        OK, MEMORY, TIME,
    ),
    "png of 49 megapixels, interlaced": (
        lambda: raw.png(raw.png_header(7000, 7000, 8, 6, 1), pixels=_rows(7000, 7010, 4)),
        OK, MEMORY, TIME, BROKEN,
    ),
    "png of one pixel that inflates to 1 GB": (
        lambda: raw.png(raw.png_header(1, 1), pixels=raw.zeros(1 << 30)), OK, BROKEN,
    ),
    "png of 100,000 x 100,000": (lambda: raw.png(raw.png_header(100_000, 100_000), pixels=raw.zeros(100)), PIXELS),
    "png of 2,000,000,000 x 1": (lambda: raw.png(raw.png_header(2_000_000_000, 1), pixels=raw.zeros(9)), PIXELS),
    "png without width": (lambda: raw.png(raw.png_header(0, 10), pixels=raw.zeros(100)), BROKEN),
    "png with a broken checksum": (
        lambda: raw.PNG + raw.png_chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0), checksum=7), BROKEN,
    ),
    "png with a broken byte in its pixels": (
        lambda: good("png")[:-1000] + bytes([good("png")[-1000] ^ 0x55]) + good("png")[-999:], BROKEN,
    ),
    "png with pixels that are not compressed data": (
        lambda: raw.png(raw.png_header(10, 10), pixels=b"no zlib here, none at all"), BROKEN,
    ),
    "png with too few pixels": (lambda: raw.png(raw.png_header(500, 500), pixels=raw.zeros(1000)), BROKEN),
    "png with a text of 300 MB": (lambda: _png_text(300 << 20), OK),
    "png with a profile of 300 MB": (lambda: _png_profile(300 << 20), OK),
    "png with a chunk of 4 GB": (
        lambda: good("png")[:33] + struct.pack(">I", 0xFFFFFFFF) + good("png")[37:], BROKEN,
    ),
    "png with 200,000 empty chunks": (
        lambda: good("png")[:33] + raw.png_chunk(b"IDAT") * 200_000 + good("png")[33:], OK, BROKEN,
    ),
    "png with 100,000 frames": (
        lambda: raw.png(
            raw.png_header(1, 1),
            raw.png_chunk(b"acTL", struct.pack(">II", 100_000, 0)),
            *[raw.png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", n, 1, 1, 0, 0, 1, 9, 0, 0)) for n in range(100_000)],
            pixels=zlib.compress(bytes(4)),
        ),
        FRAMES,
    ),
    "png that says it has 4,000,000,000 frames": (
        lambda: raw.png(
            raw.png_header(1, 1), raw.png_chunk(b"acTL", b"\xff" * 8), pixels=zlib.compress(bytes(4))
        ),
        OK, BROKEN,
    ),
    "png with a frame that stands out": (
        lambda: raw.png(
            raw.png_header(1, 1),
            raw.png_chunk(b"acTL", struct.pack(">II", 1, 0)),
            raw.png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 60_000, 60_000, 0, 0, 1, 9, 0, 0)),
            pixels=zlib.compress(bytes(4)),
        ),
        BROKEN,
    ),
    "png with a critical chunk of its own": (
        lambda: good("png")[:33] + raw.png_chunk(b"EVIL", b"x") + good("png")[33:], OTHER,
    ),
    "png with a palette that is not there": (
        lambda: raw.png(raw.png_header(10, 10, 8, 3), pixels=raw.zeros(110)), OK, BROKEN,
    ),
    "png and html": (lambda: good("png") + SCRIPT, OK),
}  # fmt: skip

_JPEG: dict[str, Row] = {
    "jpeg of 65,500 x 65,500": (lambda: raw.replace_size(good("jpeg"), 65_500, 65_500), PIXELS),
    "jpeg without height": (lambda: raw.replace_size(good("jpeg"), 200, 0), OTHER),
    "jpeg without width": (lambda: raw.replace_size(good("jpeg"), 0, 150), BROKEN),
    "jpeg that says it is larger": (lambda: raw.replace_size(good("jpeg"), 7000, 7000), OK, BROKEN),
    "jpeg with 5,000 scans": (lambda: many_scans(64, 64, 5000), OTHER),
    "jpeg of 48 megapixels with 90 scans": (lambda: many_scans(8000, 6000, 80), OK, TIME, MEMORY),
    "jpeg, progressive, of 48 megapixels, 4:4:4": (
        lambda: _flat(8000, 6000, "JPEG", progressive=True, subsampling=0), OK, TIME, MEMORY,
    ),
    "jpeg with two frame headers": (
        lambda: good("jpeg")[:-2] + raw.jpeg_header(60_000, 60_000) + b"\xff\xd9", BROKEN,
    ),
    "jpeg with 12 bits": (lambda: b"\xff\xd8" + raw.jpeg_header(10, 10, 0xC1, 12) + b"\xff\xd9", OTHER),
    "jpeg without loss": (lambda: b"\xff\xd8" + raw.jpeg_header(10, 10, 0xC3) + b"\xff\xd9", OTHER),
    "jpeg, arithmetically coded": (lambda: b"\xff\xd8" + raw.jpeg_header(10, 10, 0xC9) + b"\xff\xd9", OTHER),
    "jpeg with impossible sampling": (
        lambda: b"\xff\xd8" + raw.jpeg_header(10, 10, factors=0xF0) + b"\xff\xd9", BROKEN,
    ),
    "jpeg without a picture": (lambda: b"\xff\xd8" + raw.jpeg_header(10, 10) + b"\xff\xd9", BROKEN),
    "jpeg with a scan and nothing before": (
        lambda: b"\xff\xd8" + raw.jpeg_segment(0xDA, bytes(10)) + b"\xff\xd9", BROKEN,
    ),
    "jpeg without tables": (
        lambda: b"\xff\xd8" + raw.jpeg_header(10, 10)
        + raw.jpeg_segment(0xDA, b"\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00") + b"abc\xff\xd9",
        BROKEN,
    ),
    "jpeg with a segment of no length": (lambda: raw.insert_segment(good("jpeg"), b"\xff\xe1\x00\x00"), BROKEN),
    "jpeg with 20 MB of fill bytes": (lambda: good("jpeg")[:2] + b"\xff" * 20_000_000 + good("jpeg")[2:], OK, MEMORY),
    "jpeg with EXIF that goes round": (
        lambda: raw.insert_segment(
            good("jpeg"), raw.jpeg_segment(0xE1, b"Exif\x00\x00II*\x00\x08\x00\x00\x00\xff\xff" + b"\x08\x00" * 2000)
        ),
        OK,
    ),
    "jpeg and zip": (lambda: good("jpeg") + _archive(), OK),
}  # fmt: skip

_WEBP: dict[str, Row] = {
    "webp of 100,000 x 100,000": (
        lambda: raw.riff(raw.webp_header(100_000, 100_000, 0), good("webp")[12:]), PIXELS,
    ),
    "webp of 7,000 x 7,000": (lambda: _flat(7000, 7000, "WEBP", method=0), MEMORY),
    "webp whose data is larger than its header": (
        lambda: raw.riff(raw.webp_header(10, 10, 0), _flat(8000, 5000, "WEBP", method=0)[12:]), BROKEN,
    ),
    "webp with 50,000 frames": (
        lambda: raw.riff(
            raw.webp_header(200, 150, 2), raw.riff_chunk(b"ANIM", bytes(6)),
            *[raw.webp_frame(200, 150, good("webp")[12:])] * 5000,
        ),
        FRAMES,
    ),
    "webp with 400 frames of 16 megapixels": (
        lambda: raw.riff(
            raw.webp_header(4000, 4000, 2), raw.riff_chunk(b"ANIM", bytes(6)),
            *[raw.webp_frame(200, 150, good("webp")[12:])] * 400,
        ),
        PIXELS,
    ),
    "webp with a frame that stands out": (
        lambda: raw.riff(
            raw.webp_header(100, 100, 2), raw.riff_chunk(b"ANIM", bytes(6)), raw.webp_frame(200, 150, good("webp")[12:])
        ),
        BROKEN,
    ),
    "webp with frames and no animation": (
        lambda: raw.riff(raw.webp_header(200, 150, 0), raw.webp_frame(200, 150, good("webp")[12:])), BROKEN,
    ),
    "webp without a picture": (lambda: raw.riff(raw.webp_header(10, 10, 0)), BROKEN),
    "webp with a chunk of 4 GB": (lambda: raw.riff(b"VP8 \xff\xff\xff\xff" + bytes(100)), BROKEN),
    "webp without loss, with noise for data": (
        lambda: raw.riff(raw.riff_chunk(b"VP8L", b"\x2f\xff\xc0\x0f\x00" + random.Random(1).randbytes(5000))),
        OK, BROKEN,
    ),
    "webp and html": (lambda: good("webp") + SCRIPT, OK),
}  # fmt: skip

_GIF: dict[str, Row] = {
    "gif of 65,535 x 65,535": (lambda: raw.gif_header(65_535, 65_535) + raw.gif_frame() + b";", PIXELS),
    "gif with a frame of 65,535 x 65,535": (
        lambda: raw.gif_header(1, 1) + raw.gif_frame(65_535, 65_535) + b";", PIXELS,
    ),
    "gif with 100,000 frames": (lambda: raw.gif_header(1, 1) + raw.gif_frame() * 100_000 + b";", FRAMES),
    "gif with 400 frames of 16 megapixels": (
        lambda: raw.gif_header(4000, 4000) + raw.gif_frame(4000, 4000) * 400 + b";", PIXELS,
    ),
    "gif with few codes for 30 megapixels": (
        lambda: raw.gif_header(6000, 5000) + raw.gif_frame(6000, 5000) + b";", OK, BROKEN,
    ),
    "gif without size": (lambda: raw.gif_header(0, 0) + raw.gif_frame(0, 0) + b";", BROKEN),
    "gif without a picture": (lambda: raw.gif_header(10, 10) + b";", BROKEN),
    "gif with damaged codes": (
        lambda: raw.gif_header(90, 90) + raw.gif_frame(90, 90, b"\x0c\xff" + b"\xff" * 255 + b"\x00") + b";",
        OK, BROKEN,
    ),
    "gif with a block of an unknown kind": (lambda: raw.gif_header(1, 1) + b"\x99" * 50, BROKEN),
    "gif with a comment of 20 MB": (
        lambda: good("gif")[:-1] + raw.gif_extension(0xFE, *[b"x" * 255] * 80_000) + b";", OK,
    ),
    "gif and javascript": (lambda: good("gif") + b"/*" + SCRIPT + b"*/=1;alert(1)//", OK),
}  # fmt: skip

_AVIF: dict[str, Row] = {
    "avif of 100,000 x 100,000": (
        lambda: good("avif").replace(struct.pack(">II", 200, 150), struct.pack(">II", 100_000, 100_000)), PIXELS,
    ),
    "avif grid of 100,000 x 100,000": (lambda: raw.avif_grid(2, 2, (100_000, 100_000), (50_000, 50_000), 4), PIXELS),
    "avif grid of small size with tiles of 256 megapixels": (
        lambda: raw.avif_grid(16, 16, (1000, 1000), (1000, 1000), 256), PIXELS,
    ),
    "avif grid of 65,536 tiles": (lambda: raw.avif_grid(256, 256, (1000, 1000), (4, 4), 5000), BROKEN),
    "avif grid without its tiles": (lambda: raw.avif_grid(16, 16, (1000, 1000), (64, 64), 3), BROKEN),
    "avif grid of noise": (lambda: raw.avif_grid(2, 2, (128, 128), (64, 64), 4), BROKEN),
    "avif whose data is larger than it says": (
        lambda: _flat(9000, 5000, "AVIF", speed=10).replace(struct.pack(">II", 9000, 5000), struct.pack(">II", 90, 50)),
        OK, BROKEN, MEMORY,
    ),
    "avif of 49 megapixels": (lambda: _flat(7000, 7000, "AVIF", speed=10), MEMORY),
    "avif with noise for data": (
        lambda: good("avif")[:-900] + random.Random(2).randbytes(900), OK, BROKEN,
    ),
    "avif with a box of no size in a box": (lambda: raw.AVIF_TYPE + raw.box(b"meta", bytes(12)), BROKEN),
    "avif with 100,000 boxes": (lambda: raw.AVIF_TYPE + raw.full_box(b"meta", raw.box(b"free") * 100_000), BROKEN),
    "avif that is its type alone": (lambda: raw.AVIF_TYPE, BROKEN),
    "avif whose type is 2 GB": (lambda: b"\x7f\xff\xff\xffftypavif" + bytes(50), BROKEN),
    "avif and zip": (lambda: good("avif") + _archive(), OK),
    "heic": (lambda: raw.box(b"ftyp", b"heic", bytes(4), b"mif1heic") + bytes(500), OTHER),
}  # fmt: skip

_TIFF = struct.pack("<2sHIHHHIIHHIII", b"II", 42, 8, 2, 256, 4, 1, 400_000, 257, 4, 1, 400_000, 0)
_OTHER: dict[str, Row] = {
    "svg with a script": (lambda: SVG, OTHER),
    "svg without a declaration": (lambda: b"\n <svg onload='alert(1)'/>", OTHER),
    "svg, compressed": (lambda: gzip.compress(SVG), NOT),
    "tiff of 400,000 x 400,000": (lambda: _TIFF, OTHER),
    "bmp of 100,000 x 100,000": (
        lambda: b"BM" + struct.pack("<IIIIiiHHI", 54, 0, 54, 40, 100_000, 100_000, 1, 24, 0) + bytes(20), OTHER,
    ),
    "icon": (lambda: b"\x00\x00\x01\x00\x01\x00" + bytes(50), OTHER),
    "photoshop": (lambda: b"8BPS\x00\x01" + bytes(50), OTHER),
    "jpeg 2000": (lambda: b"\x00\x00\x00\x0cjP  \r\n\x87\n" + bytes(50), OTHER),
    "jpeg xl": (lambda: b"\xff\x0a" + bytes(50), OTHER),
    "pdf": (lambda: b"%PDF-1.7\n" + bytes(50), NOT),
    "postscript": (lambda: b"%!PS-Adobe-3.0 EPSF\n", NOT),
    "error page": (lambda: b"<!DOCTYPE html><html><head><title>404 Not Found</title>", NOT),
    "error page in utf-16": (lambda: "\ufeff<html><body>no".encode("utf-16-le"), NOT),
    "page with a drawing": (lambda: b"<html><body><svg></svg></body></html>", NOT),
    "json": (lambda: b'{"error": "gone"}', NOT),
    "text": (lambda: b"Not found\n", NOT),
    "zip": (_archive, NOT),
    "program": (lambda: b"MZ\x90\x00" + bytes(100), NOT),
    "video": (lambda: raw.box(b"ftyp", b"isom", bytes(4), b"isommp42") + bytes(500), NOT),
    "noise": (lambda: random.Random(5).randbytes(5000), NOT),
    "nothing": (lambda: b"", NOT),
}  # fmt: skip

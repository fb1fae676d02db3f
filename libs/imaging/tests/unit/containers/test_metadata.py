"""Personal metadata is removed, and the pixels stay."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageCms

from classifeed_imaging.containers import READERS
from classifeed_imaging.limits import Limits
from classifeed_imaging.pipeline import decode_picture
from classifeed_imaging.sniffing import identify

from ...samples import raw
from ...samples.drawings import saved, texture
from ...samples.hostile import animated

SECRET = b"Ivan-Camera-4711"
GPS = (55.0, 45.0, 21.5)


def secret_exif(orientation: int = 6) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = SECRET.decode()
    exif[0x8769] = {0xA431: SECRET.decode()}
    exif[0x8825] = {1: "N", 2: GPS, 3: "E", 4: GPS}
    return exif


XMP = b"<x:xmpmeta><exif:GPSLatitude>" + SECRET + b"</exif:GPSLatitude></x:xmpmeta>"
PICTURE = texture(np.random.default_rng(4), 120, 80)


def jpeg() -> bytes:
    data = saved(PICTURE, "JPEG", exif=secret_exif(), xmp=XMP, comment=SECRET, quality=90)
    thumbnail = raw.jpeg_segment(0xE0, b"JFXX\x00\x10" + SECRET)
    iptc = raw.jpeg_segment(0xED, b"Photoshop 3.0\x008BIM" + SECRET)
    return raw.insert_segment(data, thumbnail, iptc, raw.jpeg_segment(0xE2, b"FPXR\x00" + SECRET)) + SECRET


def png() -> bytes:
    data = saved(PICTURE, "PNG", exif=secret_exif())
    text = raw.png_chunk(b"tEXt", b"Author\x00" + SECRET) + raw.png_chunk(b"zTXt", b"a\x00\x00" + zlib.compress(SECRET))
    text += raw.png_chunk(b"iTXt", b"XML:com.adobe.xmp\x00\x00\x00\x00\x00" + XMP) + raw.png_chunk(b"tIME", bytes(7))
    return data[:33] + text + raw.png_chunk(b"prVt", SECRET) + data[33:] + SECRET


def webp() -> bytes:
    data = saved(PICTURE, "WEBP", exif=secret_exif(), xmp=XMP)
    body = data[12:] + raw.riff_chunk(b"prVt", SECRET)
    return raw.riff(body) + SECRET


def gif() -> bytes:
    data = saved(PICTURE.convert("P"), "GIF", comment=SECRET)
    xmp = raw.gif_extension(0xFF, b"XMP DataXMP", XMP[:200])
    return data[:-1] + xmp + raw.gif_extension(0x01, bytes(12), SECRET) + b";" + SECRET


def avif() -> bytes:
    return saved(PICTURE, "AVIF", exif=secret_exif(), xmp=XMP, speed=10) + raw.box(b"uuid", SECRET)


def animated_avif() -> bytes:
    frames = [texture(np.random.default_rng(seed), 64, 48) for seed in range(3)]
    return saved(frames[0], "AVIF", save_all=True, append_images=frames[1:], exif=secret_exif(1))


MAKERS: tuple[Callable[[], bytes], ...] = (jpeg, png, webp, gif, avif, animated_avif)


def clean(data: bytes) -> bytes:
    return READERS[identify(data)](data, Limits()).clean


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_nothing_that_identifies_people_is_left_and_the_pixels_are_the_same(make: Callable[[], bytes]) -> None:
    data = make()
    assert SECRET in data
    cleaned = clean(data)

    assert SECRET not in cleaned
    assert zlib.compress(SECRET) not in cleaned
    assert b"xmpmeta" not in cleaned
    before, after = (Image.open(io.BytesIO(each)) for each in (data, cleaned))
    exif = after.getexif()
    assert set(exif) <= {0x0112}
    assert exif.get(0x0112) == before.getexif().get(0x0112)
    assert not exif.get_ifd(0x8825)
    assert getattr(after, "n_frames", 1) == getattr(before, "n_frames", 1)
    for frame in range(getattr(before, "n_frames", 1)):
        before.seek(frame)
        after.seek(frame)
        assert before.convert("RGBA").tobytes() == after.convert("RGBA").tobytes()
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize("name", ["png", "webp", "gif", "avif"])
def test_an_animation_stays_one(name: str) -> None:
    decoded = decode_picture(animated(name), (), (), Limits())
    assert decoded.frames == 4
    assert getattr(Image.open(io.BytesIO(decoded.original)), "n_frames", 1) == 4


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_the_profile_of_colours_stays(name: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    cleaned = clean(saved(PICTURE, name, icc_profile=profile, exif=secret_exif(1)))
    assert Image.open(io.BytesIO(cleaned)).info["icc_profile"] == profile


def test_times_of_an_animated_avif_are_blank() -> None:
    cleaned = clean(animated_avif())
    for kind in (b"mvhd", b"tkhd", b"mdhd"):
        at = cleaned.index(kind)
        assert cleaned[at + 8 : at + 24] == bytes(16) or kind == b"tkhd"
        assert struct.unpack_from(">Q", cleaned, at + 8) == (0,)

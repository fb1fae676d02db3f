"""Smaller versions: upright, in sRGB, never enlarged, of the first frame."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from classifeed_imaging.limits import Limits
from classifeed_imaging.model import Decoded, SizeSpec
from classifeed_imaging.pipeline import decode_picture

from ..samples.drawings import saved
from .containers.test_metadata import secret_exif

RED, GREEN, BLUE, WHITE = (220, 30, 30), (30, 200, 40), (30, 40, 210), (255, 255, 255)


def quarters(width: int = 400, height: int = 240) -> Image.Image:
    """Red and green above, blue and white below."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    image.paste(WHITE, (width // 2, height // 2, width, height))
    return image


def decode(data: bytes, *sizes: SizeSpec, formats: tuple[str, ...] = ("png",)) -> Decoded:
    return decode_picture(data, sizes, formats, Limits())


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def looks_like(image: Image.Image, expected: Image.Image, tolerance: int = 12) -> bool:
    wanted = np.asarray(expected.convert("RGB").resize(image.size), np.int16)
    return float(np.abs(np.asarray(image.convert("RGB"), np.int16) - wanted).mean()) < tolerance


BOX = SizeSpec("box", 100, 100, False)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_versions_are_upright(name: str, orientation: int) -> None:
    turns = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the inverse of each orientation, as Pillow numbers them
    stored = quarters()
    if orientation != 1:
        stored = stored.transpose(Image.Transpose(turns[orientation]))
    decoded = decode(saved(stored, name, exif=secret_exif(orientation)), BOX)
    assert (decoded.width, decoded.height) == (400, 240)
    assert looks_like(opened(decoded.versions[0].data), quarters())
    assert (decoded.versions[0].width, decoded.versions[0].height) == (100, 60)
    again = decode(decoded.original, BOX)
    assert again.versions == decoded.versions


def test_nothing_is_enlarged_and_a_crop_fills_its_box() -> None:
    data = saved(quarters(), "PNG")
    wide, crop, tall, large = decode(
        data,
        SizeSpec("wide", 1000, 1000, False),
        SizeSpec("crop", 50, 50, True),
        SizeSpec("tall", 10, 600, True),
        SizeSpec("large", 800, 800, True),
    ).versions
    assert (wide.width, wide.height) == (400, 240)
    assert (crop.width, crop.height) == (50, 50)
    assert (tall.width, tall.height) == (4, 240)
    assert (large.width, large.height) == (240, 240)
    assert looks_like(opened(crop.data), quarters(240, 240))


def test_alpha_stays_where_a_format_has_it_and_jpeg_gets_white() -> None:
    image = quarters().convert("RGBA")
    image.putalpha(0)
    versions = decode(saved(image, "PNG"), BOX, formats=("jpeg", "webp", "avif", "png")).versions
    assert [opened(each.data).mode for each in versions] == ["RGB", "RGBA", "RGBA", "RGBA"]
    assert opened(versions[0].data).getpixel((10, 10)) == WHITE


@pytest.mark.parametrize("size", [(400, 240), (1600, 960)])
def test_modes_of_png_look_the_same(size: tuple[int, int]) -> None:
    picture = quarters(*size)
    palette = picture.convert("RGBA").quantize(16)
    grey = picture.convert("L")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    for image, expected in (
        (palette, picture),
        (deep, grey),
        (grey, grey),
        (picture.convert("1"), picture.convert("1")),
    ):
        assert looks_like(opened(decode(saved(image, "PNG"), BOX).versions[0].data), expected, 25)


@pytest.mark.parametrize("side", [1, 2, 3])
def test_the_smallest_pictures_are_pictures(side: int) -> None:
    for name in ("JPEG", "PNG", "WEBP", "GIF", "AVIF"):
        decoded = decode(saved(Image.new("RGB", (side, 1), RED), name), BOX, formats=("jpeg", "webp"))
        assert [(each.width, each.height) for each in decoded.versions] == [(side, 1)] * 2


def test_a_long_strip_keeps_a_pixel_of_width() -> None:
    decoded = decode(saved(Image.new("RGB", (20_000, 3), RED), "PNG"), BOX)
    assert (decoded.versions[0].width, decoded.versions[0].height) == (100, 1)


def test_cmyk_becomes_rgb() -> None:
    decoded = decode(saved(quarters().convert("CMYK"), "JPEG", quality=95), BOX)
    assert looks_like(opened(decoded.versions[0].data), quarters(), 20)


def test_colours_of_a_profile_become_srgb() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    plain = decode(saved(quarters(), "JPEG", icc_profile=profile), BOX)
    assert looks_like(opened(plain.versions[0].data), quarters())  # a profile of another colour space is ignored
    swapped = _swapped_profile()
    converted = opened(decode(saved(quarters(), "JPEG", quality=95, icc_profile=swapped), BOX).versions[0].data)
    pixel = converted.convert("RGB").getpixel((10, 10))
    assert isinstance(pixel, tuple)
    red, green, _ = pixel
    assert green > red  # the profile swaps red and green
    assert "icc_profile" not in converted.info


def _swapped_profile() -> bytes:
    """Return the profile of sRGB with red and green exchanged."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return (
        profile.replace(b"rXYZ", b"tmp0")
        .replace(b"gXYZ", b"rXYZ")
        .replace(b"tmp0", b"gXYZ")
        .replace(b"s\x00R\x00G", b"x\x00X\x00Y")
    )


def test_versions_show_the_first_frame() -> None:
    for name in ("GIF", "WEBP", "PNG", "AVIF"):
        data = saved(
            quarters(), name, save_all=True, append_images=[Image.new("RGB", (400, 240), each) for each in (BLUE, RED)]
        )
        decoded = decode(data, BOX)
        assert decoded.frames == 3
        assert looks_like(opened(decoded.versions[0].data), quarters())

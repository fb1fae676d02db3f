"""Sparse drawings with near hashes are copies only if their colours are nearly the same, too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from libs.imaging.tests.samples.drawings import FLAT_KINDS, furniture, logo, saved, texture, transformed
from PIL import Image, ImageEnhance

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_imaging.limits import Limits
from classifeed_imaging.pipeline import decode_picture
from classifeed_imaging.pixels.hashing import distance
from classifeed_pictures.domain.likeness import RICH_BITS, show_the_same

NEAR = 10
SPARSE = b"\x0f" * 6 + bytes(2)
RICH = b"\x0f" * 8


def info_of(image: Image.Image) -> PictureInfo:
    decoded = decode_picture(saved(image, "PNG", compress_level=1), (), (), Limits())
    return PictureInfo(perceptual_hash=decoded.perceptual_hash, blurhash=decoded.blurhash)


def blurhash_of(left: tuple[int, int, int], right: tuple[int, int, int], size: tuple[int, int] = (64, 48)) -> str:
    image = Image.new("RGB", size, left)
    image.paste(right, (size[0] // 2, 0, *size))
    return info_of(image).blurhash


def are_near(first: PictureInfo, second: PictureInfo, most: int = NEAR) -> bool:
    return distance(first.perceptual_hash, second.perceptual_hash) <= most


@pytest.mark.parametrize("draw", FLAT_KINDS)
def test_copies_of_drawings_pass(draw: Callable[..., Image.Image]) -> None:
    random = np.random.default_rng(20261126)
    pairs = []
    for _ in range(15):
        image = draw(random, 320, 240)
        original = info_of(image)
        pairs += [(original, info_of(copy)) for _, copy in transformed(image, random)]
    near = [pair for pair in pairs if are_near(*pair)]
    assert len(near) >= 0.94 * len(pairs)
    assert sum(show_the_same(*pair) for pair in near) >= 0.85 * len(near)


def test_drawings_of_other_things_do_not_pass() -> None:
    random = np.random.default_rng(7)
    drawings = [info_of(draw(random, 320, 240)) for _ in range(60) for draw in (furniture, logo)]
    near = [pair for pair in combinations(drawings, 2) if are_near(*pair)]
    assert len(near) >= 40
    assert sum(show_the_same(*pair) for pair in near) <= len(near) // 20


def test_a_photograph_passes_in_other_light() -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        image = texture(random, 320, 240)
        darker = ImageEnhance.Brightness(ImageEnhance.Contrast(image).enhance(0.9)).enhance(0.8)
        assert are_near(info_of(image), info_of(darker))
        assert show_the_same(info_of(image), info_of(darker))


def test_colours_count_where_the_hash_says_little() -> None:
    red, blue = blurhash_of((200, 30, 30), (240, 240, 240)), blurhash_of((30, 30, 200), (240, 240, 240))
    assert int.from_bytes(SPARSE, "big").bit_count() < RICH_BITS
    for hashed, is_same in ((SPARSE, False), (RICH, True)):
        first = PictureInfo(perceptual_hash=hashed, blurhash=red)
        second = PictureInfo(perceptual_hash=hashed, blurhash=blue)
        assert show_the_same(first, second) is is_same
        assert show_the_same(second, first) is is_same
        assert show_the_same(first, first)


def test_hashes_that_say_much_and_are_not_very_near_need_colours_that_are_spread_alike() -> None:
    far = b"\x0f" * 7 + b"\xff"
    original = PictureInfo(perceptual_hash=RICH, blurhash=blurhash_of((200, 30, 30), (240, 240, 240)))
    other_side = blurhash_of((240, 240, 240), (200, 30, 30))
    assert show_the_same(original, PictureInfo(perceptual_hash=RICH, blurhash=other_side))
    assert show_the_same(original, PictureInfo(perceptual_hash=far, blurhash=original.blurhash))
    further = b"\x0f" * 6 + b"\x1f\xff"
    assert not show_the_same(original, PictureInfo(perceptual_hash=further, blurhash=other_side))


def test_wide_and_tall_versions_of_one_picture_pass() -> None:
    colours = ((90, 120, 150), (240, 230, 220))
    wide, tall = blurhash_of(*colours, (64, 62)), blurhash_of(*colours, (62, 64))
    assert wide[0] != tall[0]
    assert show_the_same(
        PictureInfo(perceptual_hash=SPARSE, blurhash=wide), PictureInfo(perceptual_hash=SPARSE, blurhash=tall)
    )


@pytest.mark.parametrize("blurhash", ["", "L", "LzHLk#", "00TI:j", "\n" * 28, "L" * 27])
def test_what_has_no_blurhash_passes_by_its_hash(blurhash: str) -> None:
    picture = PictureInfo(perceptual_hash=SPARSE, blurhash=blurhash)
    other = PictureInfo(perceptual_hash=SPARSE, blurhash=blurhash_of((9, 9, 9), (200, 0, 0)))
    assert show_the_same(picture, other)

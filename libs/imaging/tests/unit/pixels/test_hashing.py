"""Hashes: copies of a picture are near, different pictures are far."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from classifeed_imaging.limits import Limits
from classifeed_imaging.pipeline import decode_picture
from classifeed_imaging.pixels.hashing import distance, perceptual_hash

from ...samples.drawings import KINDS, furniture, logo, saved, transformed

NEAR = 10


def hash_of(image: Image.Image) -> bytes:
    return perceptual_hash(image.resize((64, 64), Image.Resampling.BOX))


def test_copies_are_near_and_different_pictures_are_far() -> None:
    random = np.random.default_rng(20261124)
    pictures = [draw(random) for _ in range(24) for draw in KINDS]
    hashes = [hash_of(picture) for picture in pictures]
    copies = [
        distance(hashes[index], hash_of(copy))
        for index, picture in enumerate(pictures)
        for _, copy in transformed(picture, random)
    ]
    others = [distance(first, second) for at, first in enumerate(hashes) for second in hashes[:at]]
    assert len(copies) > 500
    assert len(others) > 4000
    recall = sum(each <= NEAR for each in copies) / len(copies)
    confused = sum(each <= NEAR for each in others)
    assert recall >= 0.98
    assert confused / len(others) <= 0.0005


def test_copies_of_symmetrical_drawings_are_near() -> None:
    """Half of their frequencies are 0, until a resize or a crop shifts the drawing slightly."""
    random = np.random.default_rng(20261126)
    distances = [
        distance(hash_of(picture), hash_of(copy))
        for picture in (draw(random, 320, 240) for _ in range(30) for draw in (furniture, logo))
        for _, copy in transformed(picture, random)
    ]
    assert len(distances) == 360
    assert sum(each <= NEAR for each in distances) / len(distances) >= 0.96


def test_distance_counts_bits() -> None:
    assert distance(bytes(8), bytes(8)) == 0
    assert distance(bytes(8), b"\xff" * 8) == 64
    assert distance(b"\x01" + bytes(7), b"\x02" + bytes(7)) == 2


def test_the_dominant_colour_is_that_of_most_pixels() -> None:
    image = Image.new("RGB", (300, 200), (200, 30, 30))
    image.paste((20, 220, 40), (0, 0, 100, 200))
    decoded = decode_picture(saved(image, "PNG"), (), (), Limits())
    assert decoded.dominant_color == 0xC81E1E


def test_blurhash_is_that_of_the_reference() -> None:
    image = Image.new("RGB", (64, 64))
    image.putdata([(x * 4, y * 4, 128) for y in range(64) for x in range(64)])
    decoded = decode_picture(saved(image, "PNG"), (), (), Limits())
    assert decoded.blurhash == REFERENCE


# Result of blurhash-python 1.2 for the picture at 32 x 32 with 4 x 3 components.
REFERENCE = "LzHLk#2swxX8l}WDjte;gJfjfQfj"


def test_the_same_picture_in_another_format_has_the_same_hashes() -> None:
    image = KINDS[0](np.random.default_rng(9))
    first = decode_picture(saved(image, "PNG"), (), (), Limits())
    second = decode_picture(saved(Image.open(io.BytesIO(saved(image, "WEBP", lossless=True))), "PNG"), (), (), Limits())
    assert (first.perceptual_hash, first.blurhash) == (second.perceptual_hash, second.blurhash)

"""What the decoder is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Formats that a smaller version can have.
VERSION_FORMATS: Final = ("jpeg", "webp", "avif", "png")


@dataclass(frozen=True, slots=True)
class SizeSpec:
    """A size in which a picture is wanted: the greatest width and height in pixels.

    With `crop` the picture fills the box, and what stands out at both sides is cut off; without, all of it is shown.
    """

    name: str
    width: int
    height: int
    crop: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A smaller version of a picture, in one size and one format."""

    size: str
    format: str
    width: int
    height: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture that was decoded once, and all that is kept of it.

    Attributes:
        format: jpeg, png, webp, gif or avif.
        width: of the original in pixels, upright.
        height: of the original in pixels, upright.
        frames: of an animation; 1 for a still picture.
        original: the bytes that came, without metadata; their pixels are the same, and an animation is still one.
        versions: size by size as requested, each in all formats. They show the first frame, upright, in sRGB.
        perceptual_hash: 8 bytes; see `hashing.distance`.
        dominant_color: 0xRRGGBB.
        blurhash: text that shows a blurred picture while the real one loads.
    """

    format: str
    width: int
    height: int
    frames: int
    original: bytes
    versions: tuple[Version, ...]
    perceptual_hash: bytes
    dominant_color: int
    blurhash: str

"""Input and output of the decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Formats that a smaller version can have.
VERSION_FORMATS: Final = ("jpeg", "webp", "avif", "png")


@dataclass(frozen=True, slots=True)
class SizeSpec:
    """A requested size: the maximum width and height in pixels.

    With `crop` the picture fills the box and is cropped at two sides; without it, the whole picture is shown.
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
    """A decoded picture with all data that is kept of it.

    Attributes:
        format: jpeg, png, webp, gif or avif.
        width: width of the upright original in pixels.
        height: height of the upright original in pixels.
        frames: number of frames; 1 for a still picture.
        original: the given bytes without metadata, with the same pixels and frames.
        versions: versions by size in the requested order, each in all formats; they show the first frame, upright, in
            sRGB.
        perceptual_hash: 8 bytes; see `hashing.distance`.
        dominant_color: 0xRRGGBB.
        blurhash: text that encodes a blurred preview.
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

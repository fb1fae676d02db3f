"""A perceptual hash and a dominant colour."""

from __future__ import annotations

from typing import Final

import numpy as np
from PIL import Image

_SIDE: Final = 32
_ROWS: Final = 11
# The 64 lowest frequencies, ordered by their sum, without frequency 0 (the overall brightness).
_CHOSEN: Final = sorted(
    ((row, column) for row in range(_ROWS) for column in range(_ROWS)), key=lambda at: (sum(at), at)
)[1:65]
_PLACES: Final = ([row for row, _ in _CHOSEN], [column for _, column in _CHOSEN])
# Noise of compression: weaker frequencies count as 0. Without this threshold, 1.5 % of copies are not found.
_NOISE: Final = 20.0
# Effect of a resize or crop, as a share of the mean strength. Half of the frequencies of a symmetrical drawing are 0,
# like their median, until the drawing is slightly shifted. In soft pictures, where one frequency dominates, _LEFT of
# them stay above this threshold.
_ASKEW: Final = 0.04
_LEFT: Final = 20
_COLOUR_BITS: Final = 4
_DCT: Final = np.cos(np.pi * np.outer(np.arange(_ROWS), 2 * np.arange(_SIDE) + 1) / (2 * _SIDE))


def perceptual_hash(image: Image.Image) -> bytes:
    """Return 8 bytes for an RGB picture of any size: which of its lowest frequencies lie well above their median.

    Pictures that were resized, recompressed or slightly cropped differ in at most 10 bits (see `distance`), and
    different pictures in more. Sparse drawings of different things may be near, too, so the pictures
    service compares their BlurHashes as well. (pHash, Zauner 2010, with a threshold for noise.)
    """
    grey = np.asarray(image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX), np.float64)
    chosen = (_DCT @ grey @ _DCT.T)[_PLACES]
    above = chosen - np.median(chosen)
    askew = min(_ASKEW * np.sqrt((chosen**2).mean()), np.partition(above, -_LEFT - 1)[-_LEFT - 1])
    return np.packbits(above > max(_NOISE, askew)).tobytes()


def distance(first: bytes, second: bytes) -> int:
    """Return the number of bits, 0 to 64, in which two perceptual hashes differ."""
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count()


def dominant_color(image: Image.Image) -> int:
    """Return 0xRRGGBB for an RGB or RGBA picture: the mean of the most frequent colours; white without pixels."""
    pixels = np.asarray(image.convert("RGBA"), np.uint32).reshape(-1, 4)
    pixels = pixels[pixels[:, 3] >= 128][:, :3]
    if not len(pixels):
        return 0xFFFFFF
    coarse = pixels >> (8 - _COLOUR_BITS)
    kinds = (coarse[:, 0] << 2 * _COLOUR_BITS) | (coarse[:, 1] << _COLOUR_BITS) | coarse[:, 2]
    common = np.bincount(kinds).argmax()
    red, green, blue = (int(channel) for channel in np.rint(pixels[kinds == common].mean(axis=0)))
    return red << 16 | green << 8 | blue

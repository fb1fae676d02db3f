"""What a picture looks like, in few bytes: a perceptual hash and a dominant colour."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

HASH_BYTES: Final = 8
_SIDE: Final = 32
_FREQUENCIES: Final = 8
_COLOUR_BITS: Final = 4


def _dct_rows() -> NDArray[np.float32]:
    frequency, position = np.mgrid[0 : _FREQUENCIES + 1, 0:_SIDE]
    return np.cos(np.pi * frequency * (2 * position + 1) / (2 * _SIDE)).astype(np.float32)


_DCT: Final = _dct_rows()


def perceptual_hash(image: Image.Image) -> bytes:
    """Return 8 bytes for an RGB picture: which of its 64 lowest frequencies lie above their median.

    Pictures that were resized, compressed again or cropped a little differ in few bits; see `distance`. The brightness
    of the whole, which is the frequency 0, does not count. (The method is known as pHash, after Zauner 2010.)
    """
    grey = np.asarray(image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX), np.float32)
    frequencies = (_DCT @ grey @ _DCT.T)[: _FREQUENCIES + 1, : _FREQUENCIES + 1]
    chosen = _zigzag(frequencies)
    return np.packbits(chosen > np.median(chosen)).tobytes()


def _zigzag(frequencies: NDArray[np.float32]) -> NDArray[np.float32]:
    return frequencies[:_FREQUENCIES, :_FREQUENCIES].ravel()


def distance(first: bytes, second: bytes) -> int:
    """Return in how many bits, 0 to 64, two perceptual hashes differ."""
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count()


def dominant_color(image: Image.Image) -> int:
    """Return 0xRRGGBB for an RGB or RGBA picture: the mean of the most frequent kind of colour, white for no pixels."""
    pixels = np.asarray(image.convert("RGBA"), np.uint32).reshape(-1, 4)
    pixels = pixels[pixels[:, 3] >= 128][:, :3]
    if not len(pixels):
        return 0xFFFFFF
    coarse = pixels >> (8 - _COLOUR_BITS)
    kinds = (coarse[:, 0] << 2 * _COLOUR_BITS) | (coarse[:, 1] << _COLOUR_BITS) | coarse[:, 2]
    common = np.bincount(kinds).argmax()
    red, green, blue = (int(channel) for channel in np.rint(pixels[kinds == common].mean(axis=0)))
    return red << 16 | green << 8 | blue

"""BlurHash: a blurred picture as about thirty letters, shown while the picture loads (blurha.sh)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from classifeed_imaging.base83 import encode_base83

_SIDE: Final = 32
_MOST, _FEWEST = 4, 3
_COSINES: Final = np.cos(np.pi * np.outer(np.arange(_MOST), np.arange(_SIDE) / _SIDE))


def encode_blurhash(image: Image.Image, *, is_wide: bool) -> str:
    """Return the BlurHash of an RGB picture: four components along the longer side of the original, three otherwise."""
    across, down = (_MOST, _FEWEST) if is_wide else (_FEWEST, _MOST)
    small = image.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    factors = _measure(_to_linear(np.asarray(small, np.float64) / 255), across, down)
    rest = factors[1:]
    greatest = float(np.abs(rest).max())
    scale = int(np.clip(np.floor(greatest * 166 - 0.5), 0, 82))
    average = [round(float(value) * 255) for value in _from_linear(factors[0])]
    digits = [encode_base83(across - 1 + (down - 1) * 9, 1), encode_base83(scale, 1)]
    digits.append(encode_base83(average[0] << 16 | average[1] << 8 | average[2], 4))
    scaled = rest / ((scale + 1) / 166)
    steps = np.clip(np.floor(np.sign(scaled) * np.sqrt(np.abs(scaled)) * 9 + 9.5), 0, 18).astype(int)
    digits += [encode_base83(red * 361 + green * 19 + blue, 2) for red, green, blue in steps.tolist()]
    return "".join(digits)


def _measure(pixels: NDArray[np.float64], across: int, down: int) -> NDArray[np.float64]:
    """Return the components, row by row, three colours each."""
    rows, columns = _COSINES[:down], _COSINES[:across]
    by_colour = rows @ pixels.transpose(2, 0, 1) @ columns.T
    factors = by_colour.transpose(1, 2, 0).reshape(-1, 3) / _SIDE**2
    factors[1:] *= 2
    return np.asarray(factors, np.float64)


def _to_linear(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _from_linear(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.clip(values, 0, 1)
    return np.where(values <= 0.0031308, values * 12.92, 1.055 * values ** (1 / 2.4) - 0.055)

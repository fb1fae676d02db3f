"""Decides by their blurred colours whether two pictures with near but weak hashes show the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import dist, hypot
from typing import Final

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_imaging.base83 import digits_of, number_of

RICH_BITS: Final = 26
"""Set bits from which on a hash is strong: photographs have about 30 of 64, sparse drawings fewer."""
_SURE_DISTANCE: Final = 4
_SURELY_EQUAL: Final = 0.05
_MOST_APART: Final = 0.09
_LEAST_PARALLEL: Final = 0.97
_LEAST_PARALLEL_RICH: Final = 0.95
_COMPONENTS: Final = 3
_COLOURS: Final = 3


def show_the_same(first: PictureInfo, second: PictureInfo) -> bool:
    """Return whether two pictures with near hashes may be copies of each other.

    Sparse drawings have near hashes although they show different things, as most of their frequencies are weak. Their
    blurred versions must have nearly the same colours at nearly the same places. If hashes are strong but not very
    near, only the distribution of colours must be alike, at any brightness. A picture without a BlurHash passes.
    """
    hashes = [int.from_bytes(info.perceptual_hash, "big") for info in (first, second)]
    is_rich = min(each.bit_count() for each in hashes) >= RICH_BITS
    if is_rich and (hashes[0] ^ hashes[1]).bit_count() <= _SURE_DISTANCE:
        return True
    one, other = _blurred(first.blurhash), _blurred(second.blurhash)
    if not one or not other:
        return True
    apart = dist(one, other)
    if apart <= _SURELY_EQUAL:
        return True
    if apart > _MOST_APART and not is_rich:
        return False
    shape, other_shape = one[_COLOURS:], other[_COLOURS:]
    parallel = sum(left * right for left, right in zip(shape, other_shape, strict=True))
    least = _LEAST_PARALLEL_RICH if is_rich else _LEAST_PARALLEL
    return parallel >= least * hypot(*shape) * hypot(*other_shape)


@lru_cache(maxsize=4096)
def _blurred(blurhash: str) -> Sequence[float]:
    """Return the mean colour and the eight slowest waves of each colour, which wide and tall pictures both have.

    Empty if the text is no BlurHash of at least 3 by 3 components.
    """
    try:
        digits = digits_of(blurhash)
    except KeyError:
        return ()
    if len(digits) < 6:
        return ()
    down, across = (count + 1 for count in divmod(digits[0], 9))
    if min(down, across) < _COMPONENTS or len(digits) != 4 + 2 * down * across:
        return ()
    mean = number_of(digits[2:6])
    values = [(mean >> shift & 255) / 255 for shift in (16, 8, 0)]
    scale = (digits[1] + 1) / 166
    for row in range(_COMPONENTS):
        for column in range(_COMPONENTS):
            if row or column:
                at = 4 + 2 * (row * across + column)
                wave = number_of(digits[at : at + 2])
                steps = ((wave // 361 - 9) / 9, (wave // 19 % 19 - 9) / 9, (wave % 19 - 9) / 9)
                values += (step * abs(step) * scale for step in steps)
    return values

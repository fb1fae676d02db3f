"""Keys for finding similar pictures: the bits of a perceptual hash, distributed over four pieces."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Final

HASH_BYTES: Final = 8
DEFAULT_DISTANCE: Final = 10
"""Maximum number of bits in which copies differ; see `classifeed_imaging.pixels.hashing`."""
MAX_DISTANCE: Final = 11
"""Maximum distance of a search in bits: beyond it, a piece has so many neighbours that its whole index is read."""
LEAST_BITS: Final = 8
"""Minimum number of set bits of a usable hash: hashes of plain pictures are all near to each other."""
_PIECES: Final = 4
_PIECE_BITS: Final = 16
_HALF: Final = 1 << 63


def similarity_key(perceptual_hash: bytes) -> int:
    """Return a hash of 8 bytes as a signed 64-bit number with four pieces of every fourth bit each; 0 without a hash.

    Keys differ in as many bits as their hashes. The bits of a hash are ordered by frequency: a piece with only the
    highest ones, which are mostly unset, would be the same in many pictures.
    """
    if len(perceptual_hash) != HASH_BYTES:
        return 0
    bits = f"{int.from_bytes(perceptual_hash, 'big'):064b}"
    key = int("".join(bits[piece::_PIECES] for piece in range(_PIECES)), 2)
    return key - 2 * _HALF if key >= _HALF else key


def is_plain(key: int) -> bool:
    """Return whether a key has too few bits to be compared: a picture of one colour, or of few soft ones."""
    return (key + 2 * _HALF if key < 0 else key).bit_count() < LEAST_BITS


def pieces_near(key: int, distance: int) -> list[list[int]]:
    """Return values for each of the four pieces; a key within the distance has one of them in at least one piece.

    With shares r1 to r4 that sum to `distance - 3`, a key that differs in more than r bits in every piece differs in at
    least `distance + 1` bits. So at least one piece is within its share.
    """
    spread = max(distance - _PIECES + 1, 0)
    shares = [(spread + piece) // _PIECES for piece in range(_PIECES)]
    unsigned = key % (2 * _HALF)
    return [
        [(unsigned >> _PIECE_BITS * (_PIECES - 1 - piece)) % (1 << _PIECE_BITS) ^ mask for mask in _masks(share)]
        for piece, share in enumerate(shares)
    ]


@cache
def _masks(most: int) -> tuple[int, ...]:
    """Return the 16-bit numbers with at most `most` bits set."""
    return tuple(
        sum(1 << bit for bit in bits) for count in range(most + 1) for bits in combinations(range(_PIECE_BITS), count)
    )

"""Keys by which pictures that look alike are found: the bits of a perceptual hash, dealt out to four pieces."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Final

HASH_BYTES: Final = 8
DEFAULT_DISTANCE: Final = 10
"""Bits in which copies of a picture differ at most; see `classifeed_pictures.decoding.imaging.hashing`."""
MAX_DISTANCE: Final = 11
"""Bits up to which is searched: with more, a piece has so many neighbours that its index is read whole."""
LEAST_BITS: Final = 8
"""Bits that a hash has at least, to say anything: those of plain pictures are near to each other."""
_PIECES: Final = 4
_PIECE_BITS: Final = 16
_HALF: Final = 1 << 63


def similarity_key(perceptual_hash: bytes) -> int:
    """Return a hash of 8 bytes as a signed number of 64 bits whose four pieces have every fourth bit each; 0 for none.

    Keys differ in as many bits as their hashes. The bits of a hash are ordered by frequency: a piece of the highest
    ones alone, which are mostly unset, would be the same in many pictures.
    """
    if len(perceptual_hash) != HASH_BYTES:
        return 0
    bits = f"{int.from_bytes(perceptual_hash, 'big'):064b}"
    key = int("".join(bits[piece::_PIECES] for piece in range(_PIECES)), 2)
    return key - 2 * _HALF if key >= _HALF else key


def is_plain(key: int) -> bool:
    """Return whether the hash of a key says too little to be compared: a picture of one colour or of few, soft ones."""
    return (key + 2 * _HALF if key < 0 else key).bit_count() < LEAST_BITS


def pieces_near(key: int, distance: int) -> list[list[int]]:
    """Return for each of the four pieces the values of which a key within a distance has at least one in its place.

    With shares r1 to r4 whose sum is `distance - 3`, a key that differs in more than r bits in each piece differs in
    `distance + 1` at least. So one piece is within its share.
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
    """Return the numbers of 16 bits that have at most so many set."""
    return tuple(
        sum(1 << bit for bit in bits) for count in range(most + 1) for bits in combinations(range(_PIECE_BITS), count)
    )

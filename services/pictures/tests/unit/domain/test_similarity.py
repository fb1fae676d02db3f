"""Keys of pictures differ like their hashes, and near keys have a piece nearly in common."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from classifeed_imaging.pixels.hashing import distance
from classifeed_pictures.domain.similarity import (
    HASH_BYTES,
    LEAST_BITS,
    MAX_DISTANCE,
    is_plain,
    pieces_near,
    similarity_key,
)

HASHES = st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES)
BITS = st.lists(st.integers(0, 63), max_size=MAX_DISTANCE, unique=True)
SHIFTS = (48, 32, 16, 0)


def flipped(hashed: bytes, bits: list[int]) -> bytes:
    number = int.from_bytes(hashed, "big")
    for bit in bits:
        number ^= 1 << bit
    return number.to_bytes(HASH_BYTES, "big")


@given(HASHES, HASHES)
def test_keys_differ_in_as_many_bits_as_their_hashes(first: bytes, second: bytes) -> None:
    keys = [similarity_key(each) for each in (first, second)]
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert ((keys[0] ^ keys[1]) % 2**64).bit_count() == distance(first, second)


@given(HASHES, BITS, st.integers(0, MAX_DISTANCE))
def test_a_key_within_the_distance_has_a_piece_that_is_sought(hashed: bytes, bits: list[int], most: int) -> None:
    other = similarity_key(flipped(hashed, bits[:most]))
    sought = pieces_near(similarity_key(hashed), most)
    assert any((other >> shift) & 0xFFFF in values for shift, values in zip(SHIFTS, sought, strict=True))


def test_however_the_bits_are_spread_one_piece_is_sought() -> None:
    for most in range(MAX_DISTANCE + 1):
        sought = [set(values) for values in pieces_near(0, most)]
        spreads = (counts for counts in product(range(most + 1), repeat=4) if sum(counts) <= most)
        assert all(
            any((1 << count) - 1 in values for count, values in zip(counts, sought, strict=True)) for counts in spreads
        )


def test_no_more_pieces_are_sought_than_needed() -> None:
    counts = {most: [len(values) for values in pieces_near(0, most)] for most in (0, 3, 10, MAX_DISTANCE)}
    assert counts == {0: [1, 1, 1, 1], 3: [1, 1, 1, 1], 10: [17, 137, 137, 137], MAX_DISTANCE: [137, 137, 137, 137]}


def test_the_bits_of_neighbouring_frequencies_are_in_different_pieces() -> None:
    assert similarity_key(b"\xf0" + bytes(7)) == -(2**63) | 1 << 47 | 1 << 31 | 1 << 15


def test_a_hash_with_few_bits_is_that_of_a_plain_picture() -> None:
    assert is_plain(similarity_key(b""))
    assert is_plain(similarity_key(bytes(HASH_BYTES)))
    assert is_plain(similarity_key(b"\xfe" + bytes(7)))
    assert not is_plain(similarity_key(b"\xff" + bytes(7)))
    assert LEAST_BITS == 8

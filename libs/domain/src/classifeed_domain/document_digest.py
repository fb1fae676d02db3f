"""Digests of documents, which add up: two sets of documents are equal when their counts and both sums are.

Each document gives two 32-bit numbers made of its key's hash and its version. The registry sums them up in SQL, an
index by an aggregation over fast fields; sums of up to 2^21 documents are exact in a double, too. Indexes keep the
numbers, so the arithmetic may never change without a rebuild of every one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_LOW: Final = 0xFFFFFFFF
# Odd, so that no two numbers become one, and below 2^31, so that products fit PostgreSQL's bigint.
_FACTORS: Final = (0x045D9F3B, 0x2C1B3C6D, 0x297A2D39, 0x5BD1E995)


class Digest(NamedTuple):
    """The digest of one document."""

    a: int
    b: int


def digest_of(pk_hash: int, version: int) -> Digest:
    """Return the digest of a document, two numbers of 32 bits.

    Args:
        pk_hash: hash of its key, signed (`document_shards.hash_of`).
        version: its version, not negative.
    """
    folded = (version ^ version >> 32) & _LOW
    spread = folded ^ folded >> 16
    low = pk_hash & _LOW ^ spread * _FACTORS[0] & _LOW
    high = pk_hash >> 32 & _LOW ^ spread * _FACTORS[2] & _LOW
    return Digest((low ^ low >> 16) * _FACTORS[1] & _LOW, (high ^ high >> 16) * _FACTORS[3] & _LOW)

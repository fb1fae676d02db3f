"""Additive digests of documents: two sets of documents are equal if their counts and both sums are equal.

The digest of a document is two 32-bit numbers, computed from the hash of its key and its version. The registry sums
them in SQL, an index by an aggregation over fast fields. Sums of up to 2^21 documents are exact in a double as well.
Indexes store the numbers: if the arithmetic changes, every index must be rebuilt.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_LOW: Final = 0xFFFFFFFF
# Odd, so that multiplication is a bijection; below 2^31, so that products fit PostgreSQL's bigint.
_FACTORS: Final = (0x045D9F3B, 0x2C1B3C6D, 0x297A2D39, 0x5BD1E995)


class Digest(NamedTuple):
    """The digest of one document."""

    a: int
    b: int


def digest_of(pk_hash: int, version: int) -> Digest:
    """Return the digest of a document, two 32-bit numbers.

    Args:
        pk_hash: Signed hash of its key (`document_shards.hash_of`).
        version: Version of the document, not negative.
    """
    folded = (version ^ version >> 32) & _LOW
    spread = folded ^ folded >> 16
    low = pk_hash & _LOW ^ spread * _FACTORS[0] & _LOW
    high = pk_hash >> 32 & _LOW ^ spread * _FACTORS[2] & _LOW
    return Digest((low ^ low >> 16) * _FACTORS[1] & _LOW, (high ^ high >> 16) * _FACTORS[3] & _LOW)

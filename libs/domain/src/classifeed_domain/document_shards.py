"""Shards of documents: a 64-bit hash of the document's key determines one of 64 shards.

Every row of the registry and every index stores the hash, and readers of the queues know it. The key of the hash and
the number of shards may therefore never change.
"""

from __future__ import annotations

import hashlib
from typing import Final

SHARDS: Final = 64
_HASH_KEY: Final = b"classifeed.documents.v1"


def hash_of(pk: str) -> int:
    """Return the hash of a document's key as a signed 64-bit integer, the same in every process and release."""
    digest = hashlib.blake2b(pk.encode(), digest_size=8, key=_HASH_KEY).digest()
    return int.from_bytes(digest, "big", signed=True)


def shard_of(pk_hash: int) -> int:
    """Return the shard of a hash: its upper six bits, so that a shard is one range of the registry's key."""
    return pk_hash >> 58 & (SHARDS - 1)


def hashes_of(shard: int) -> tuple[int, int]:
    """Return the least and the greatest hash of a shard."""
    first = (shard if shard < SHARDS // 2 else shard - SHARDS) << 58
    return first, first + (1 << 58) - 1

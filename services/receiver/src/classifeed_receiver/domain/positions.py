"""Positions of scans through the registry, which is ordered by (hash, key) within a shard."""

from __future__ import annotations

from typing import NamedTuple

from classifeed_domain.document_shards import hash_of, hashes_of


class RegistryPosition(NamedTuple):
    """Position of a scan: after the document with this key."""

    pk_hash: int
    pk: str

    @classmethod
    def begin_of(cls, shard: int) -> RegistryPosition:
        """Return the position before the first document of a shard; the empty key sorts before all keys."""
        return cls(hashes_of(shard)[0], "")

    @classmethod
    def after(cls, pk: str) -> RegistryPosition:
        """Return the position after a key; "" means before the first document of all shards."""
        return cls(hash_of(pk), pk) if pk else cls(-(1 << 63), "")

"""Find repeated ids among millions in bounded memory.

The first pass keeps eight bytes of each id, the interpreter's keyed hash, and sorts them: only hashes that occur twice
are candidates. The second pass confirms a candidate by 16 bytes of BLAKE2b with a random key for each file. So two ids
count as equal only if both hashes agree. Ten million ids take 80 MB during the first pass.
"""

from __future__ import annotations

import hashlib
import secrets
from array import array
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np


class IdHashes:
    """Collects the ids of the first pass."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, external_id: str, _ordinal: int, _offset: int, /) -> None:
        """Add an id; its position is not used."""
        self._hashes.append(hash(external_id))

    def finish(self) -> DuplicateIds:
        """Return the candidates for the second pass, and empty this collection."""
        hashes = np.frombuffer(self._hashes, dtype="i8")
        hashes.sort()
        is_repeated = hashes[1:] == hashes[:-1]
        # If a hash occurs more than twice, keep only its second occurrence.
        is_repeated[1:] &= ~is_repeated[:-1].copy()
        candidates = array("q", hashes[1:][is_repeated].tobytes())
        del hashes, is_repeated
        self._hashes = array("q")
        return DuplicateIds(candidates)


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """First place of an id in the file."""

    ordinal: int
    line: int


class DuplicateIds:
    """Checks for each offer, in the file's order, whether its id occurred before. For one second pass."""

    def __init__(self, candidates: array[int]) -> None:
        # A random key for each file, so that collisions cannot be constructed.
        self._key = secrets.token_bytes(16)
        self._candidates = candidates
        self._confirm = bytearray(16 * len(candidates))
        self._ordinals = array("Q", bytes(8 * len(candidates)))
        self._lines = array("Q", bytes(8 * len(candidates)))
        # Different ids with equal hashes: extremely rare, but still distinguished.
        self._collisions: dict[bytes, FirstPlace] = {}

    def rewind(self) -> None:
        """Forget all ids, to restart the second pass."""
        self._ordinals[:] = array("Q", bytes(8 * len(self._candidates)))
        self._collisions.clear()

    def find_first(self, external_id: str, ordinal: int, line: int) -> FirstPlace | None:
        """Return the first place of an id; None: this is the first place, which is recorded."""
        if not self._candidates:
            return None
        value = hash(external_id)
        index = bisect_left(self._candidates, value)
        if index == len(self._candidates) or self._candidates[index] != value:
            return None
        digest = hashlib.blake2b(external_id.encode(), digest_size=16, key=self._key).digest()
        if not self._ordinals[index]:
            self._ordinals[index], self._lines[index] = ordinal, line
            self._confirm[16 * index : 16 * index + 16] = digest
            return None
        if self._confirm[16 * index : 16 * index + 16] == digest:
            return FirstPlace(self._ordinals[index], self._lines[index])
        first = self._collisions.get(digest)
        if first is None:
            self._collisions[digest] = FirstPlace(ordinal, line)
        return first

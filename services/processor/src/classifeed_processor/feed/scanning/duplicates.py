"""Finding repeated ids among millions in bounded memory.

The first pass keeps eight bytes of each id, the interpreter's own keyed hash, and sorts them: hashes that occur twice
are the only candidates. The second pass confirms a candidate by 16 bytes of BLAKE2b under a key drawn for the file, so
two ids are taken for one only where both agree. Ten million ids cost 80 MB for the length of the first pass.
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
        """Take one id, wherever it stands."""
        self._hashes.append(hash(external_id))

    def finish(self) -> DuplicateIds:
        """Return what the second pass reads. The collection is spent after it."""
        hashes = np.frombuffer(self._hashes, dtype="i8")
        hashes.sort()
        is_repeated = hashes[1:] == hashes[:-1]
        # Of a hash that stands more often than twice, the second one only.
        is_repeated[1:] &= ~is_repeated[:-1].copy()
        candidates = array("q", hashes[1:][is_repeated].tobytes())
        del hashes, is_repeated
        self._hashes = array("q")
        return DuplicateIds(candidates)


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """Where an id stood first."""

    ordinal: int
    line: int


class DuplicateIds:
    """Returns, for each offer in the file's order, whether its id stood before. For one second pass."""

    def __init__(self, candidates: array[int]) -> None:
        # Drawn anew for each file, so that nobody can aim at collisions.
        self._key = secrets.token_bytes(16)
        self._candidates = candidates
        self._confirm = bytearray(16 * len(candidates))
        self._ordinals = array("Q", bytes(8 * len(candidates)))
        self._lines = array("Q", bytes(8 * len(candidates)))
        # Different ids whose hashes agree: as good as never, and still distinguished.
        self._collisions: dict[bytes, FirstPlace] = {}

    def rewind(self) -> None:
        """Forgets what was seen, for a second pass from the beginning."""
        self._ordinals[:] = array("Q", bytes(8 * len(self._candidates)))
        self._collisions.clear()

    def find_first(self, external_id: str, ordinal: int, line: int) -> FirstPlace | None:
        """Return where the id stood first, or None when this is the first place (which is noted)."""
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

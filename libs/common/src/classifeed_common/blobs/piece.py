"""BlobPiece: a part of a file that can be read and checked without the rest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self


class BlobMissing(Exception):
    """The store has nothing under this hash. Lasting: only a new put heals it."""


class BlobCorrupt(Exception):
    """The bytes under this hash have another hash. Lasting; nothing of them must be used."""


@dataclass(frozen=True, slots=True)
class BlobPiece:
    """Where a piece lies in its file, and how it is known to be whole: the file's own hash says nothing of a piece.

    Keep it beside the reference to the file.

    Attributes:
        offset: its first byte, from 0.
        size_bytes: how many there are.
        sha256: their hash, in hex.
    """

    offset: int
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, content: bytes | memoryview, offset: int) -> Self:
        """Return the piece that `content` is, put at `offset`."""
        return cls(offset, len(content), hashlib.sha256(content).hexdigest())

    def check(self, content: bytes, of: str) -> None:
        """Compare what was read with what was put.

        Args:
            content: what was read.
            of: what it was read from, in words.

        Raises:
            BlobCorrupt: it is cut, or has other bytes.
        """
        if len(content) != self.size_bytes:
            raise BlobCorrupt(f"{of} is cut: {len(content)} of {self.size_bytes} bytes from {self.offset} on are there")
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise BlobCorrupt(
                f"{of} holds other bytes from {self.offset} on ({self.size_bytes} of them, hash {digest})"
            )

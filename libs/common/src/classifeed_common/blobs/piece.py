"""BlobPiece: a part of a file that can be read and verified without the rest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self


class BlobMissing(Exception):
    """The store has no object with this hash. Permanent until a new put."""


class BlobCorrupt(Exception):
    """The object's bytes do not match their hash. Permanent; the bytes must not be used."""


@dataclass(frozen=True, slots=True)
class BlobPiece:
    """Position and hash of a piece of a file. The file's hash cannot verify a piece.

    Store it with the reference to the file.

    Attributes:
        offset: position of the first byte, from 0.
        size_bytes: number of bytes.
        sha256: hash of these bytes, in hex.
    """

    offset: int
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, content: bytes | memoryview, offset: int) -> Self:
        """Return the piece for `content`, which is stored at `offset`."""
        return cls(offset, len(content), hashlib.sha256(content).hexdigest())

    def check(self, content: bytes, of: str) -> None:
        """Verify the bytes that were read.

        Args:
            content: bytes that were read.
            of: name of their source, for the error message.

        Raises:
            BlobCorrupt: the bytes are incomplete or differ.
        """
        if len(content) != self.size_bytes:
            raise BlobCorrupt(f"{of} is cut: {len(content)} of {self.size_bytes} bytes from {self.offset} on are there")
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise BlobCorrupt(
                f"{of} holds other bytes from {self.offset} on ({self.size_bytes} of them, hash {digest})"
            )

"""Digest of an export of picture links (OfferService.ExportPictureUrls), computed by the sender and by the reader."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

DIGEST_BYTES: Final = 16
_MASK: Final = (1 << 8 * DIGEST_BYTES) - 1


class UrlDigest:
    """Counts links and sums their hashes; order and batches of the links do not matter.

    A sum detects a link that is missing twice; an exclusive or would not.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0

    def add(self, urls: Iterable[str]) -> None:
        """Add links. Duplicates count each time."""
        for url in urls:
            digest = hashlib.blake2b(url.encode(), digest_size=DIGEST_BYTES).digest()
            self._sum = (self._sum + int.from_bytes(digest, "big")) & _MASK
            self.count += 1

    @property
    def digest(self) -> bytes:
        """The sum of the hashes, modulo 2^128, big-endian."""
        return self._sum.to_bytes(DIGEST_BYTES, "big")

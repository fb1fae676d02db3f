"""Files of originals that are being sent, shared by all clients of a picture, so that memory holds pieces only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from classifeed_common.blobs import BlobStore
from classifeed_common.errors import ResourceExhausted
from classifeed_common.spool import run_folder

MAX_BYTES: Final = 256 << 20
"""Maximum size of all originals that one process has on disk, in bytes."""
_BUSY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OpenOriginal:
    """A file with an original.

    Attributes:
        file: file open for reading; it is unlinked, so that closing it frees its space.
        size_bytes: size of the file.
    """

    file: BinaryIO
    size_bytes: int


@dataclass(slots=True)
class _Entry:
    reserved_bytes: int
    clients: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    opened: OpenOriginal | None = None


class OriginalSpool:
    """Keeps the file of an original while it is sent to a client.

    Args:
        blobs: store of the originals.
        folder: folder for the files.
        max_bytes: maximum size of all files together.
    """

    def __init__(self, blobs: BlobStore, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._blobs = blobs
        self._folder = folder
        self._max_bytes = max_bytes
        self._entries: dict[str, _Entry] = {}

    @asynccontextmanager
    async def open(self, sha256: str, size_bytes: int) -> AsyncIterator[OpenOriginal]:
        """Give the file of an original, whose hash was verified.

        Args:
            sha256: hash of the original.
            size_bytes: size of the original.

        Raises:
            BlobMissing: the store has no such file.
            BlobCorrupt: its bytes have another hash.
            ResourceExhausted: PICTURES_BUSY, the disk has no room for it now.
            Unavailable: the object store does not respond.
        """
        entry = self._enter(sha256, size_bytes)
        try:
            async with entry.lock:
                if entry.opened is None:
                    entry.opened = await self._fetch(sha256)
            yield entry.opened
        finally:
            entry.clients -= 1
            if not entry.clients:
                del self._entries[sha256]
                if entry.opened is not None:
                    entry.opened.file.close()

    def _enter(self, sha256: str, size_bytes: int) -> _Entry:
        entry = self._entries.get(sha256)
        if entry is None:
            used = sum(each.reserved_bytes for each in self._entries.values())
            if used and used + size_bytes > self._max_bytes:
                raise ResourceExhausted(
                    "PICTURES_BUSY",
                    f"{len(self._entries)} originals of {used} bytes are being sent. Request this one again later.",
                    retry_after_s=_BUSY_S,
                )
            entry = self._entries[sha256] = _Entry(size_bytes)
        entry.clients += 1
        return entry

    async def _fetch(self, sha256: str) -> OpenOriginal:
        with run_folder(self._folder) as folder:
            path = folder / sha256
            size_bytes = await self._blobs.fetch(sha256, path)
            return OpenOriginal(path.open("rb"), size_bytes)

"""Writes a file that arrives in pieces to disk, and counts and hashes it meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

from classifeed_common.errors import ResourceExhausted

_CHECK_SPACE_EVERY: Final = 16 * 1024**2
# Other uploads grow between two checks.
_RESERVE_BYTES: Final = 256 * 1024**2


class Spool:
    """A temporary file that the `with` block deletes; its name contains nothing that a user sent."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._hash = hashlib.sha256()
        self._checked_at = -_CHECK_SPACE_EVERY
        self.size_bytes = 0

    def __enter__(self) -> Spool:
        descriptor, name = tempfile.mkstemp(prefix="upload-", dir=self._folder)
        self.path = Path(name)
        self._file: BinaryIO = os.fdopen(descriptor, "wb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)

    async def write(self, chunk: bytes) -> None:
        """Append a piece.

        Raises:
            ResourceExhausted: the file is larger than the limit, or the disk is full.
        """
        self.size_bytes += len(chunk)
        if self.size_bytes > self._limit:
            raise ResourceExhausted(
                "UPLOAD_TOO_LARGE",
                f"The file is larger than {self._limit} bytes. Split it into namespaces, or compress it with gzip.",
            )
        if self.size_bytes - self._checked_at >= _CHECK_SPACE_EVERY:
            self._checked_at = self.size_bytes
            if shutil.disk_usage(self.path.parent).free < _RESERVE_BYTES:
                raise ResourceExhausted(
                    "SPOOL_FULL",
                    "There is no disk space for the file right now. Nothing was changed; try again in some minutes.",
                    retry_after_s=60,
                )
        await asyncio.to_thread(self._append, chunk)

    def _append(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._file.write(chunk)

    def finish(self) -> str:
        """Return the SHA-256 of the file in hexadecimal; the file can be read afterwards."""
        self._file.flush()
        return self._hash.hexdigest()

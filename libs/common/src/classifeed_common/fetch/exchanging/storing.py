"""Storing: decodes, hashes and limits a body while it is written to the disk."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from classifeed_common.fetch.exchanging.decoding import Decoder
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import FetchLimits

_BATCH_BYTES: Final = 1 << 20
_CHECK_EVERY_BYTES: Final = 16 << 20
_MAX_RATIO: Final = 200
_RATIO_FROM_BYTES: Final = 64 << 20
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Storing:
    """Writes a body to a temporary file, which replaces the target at the end. Always call `close`.

    Slow steps run in a thread, a batch at a time; memory use does not grow with the body.

    Args:
        to: path of the target; its folder exists.
        limits: largest size, and reserve of disk space.
        decoder: decoder of the body.
    """

    def __init__(self, to: Path, limits: FetchLimits, decoder: Decoder) -> None:
        self._to = to
        self._part = to.with_name(f".{to.name}.{secrets.token_hex(4)}.part")
        self._limits = limits
        self._decoder = decoder
        self._digest = hashlib.sha256()
        self._file: BinaryIO | None = None
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._work: asyncio.Future[None] | None = None
        self._is_closed = False
        self._checked_bytes = 0
        self.raw_bytes = 0
        self.size_bytes = 0

    async def open(self, announced_bytes: int | None) -> None:
        """Check the disk space and create the file.

        Args:
            announced_bytes: length of the body, if the server announces it.

        Raises:
            FetchFailed: TOO_LARGE, DISK_FULL, STORE_FAILED.
        """
        if announced_bytes is not None and announced_bytes > self._limits.max_bytes:
            raise self._too_large()
        await self._in_thread(lambda: self._open(announced_bytes or 0))

    async def add(self, raw: bytes) -> None:
        """Add the next part of the body.

        Raises:
            FetchFailed: TOO_LARGE, RATIO_TOO_HIGH, ENCODING_BROKEN, DISK_FULL, STORE_FAILED.
        """
        self.raw_bytes += len(raw)
        if self.raw_bytes > self._limits.max_bytes:
            raise self._too_large()
        self._batch.append(raw)
        self._batch_bytes += len(raw)
        if self._batch_bytes >= _BATCH_BYTES:
            await self._flush()

    async def finish(self) -> str:
        """Move the complete file to its target, and return its SHA-256 in hexadecimal digits.

        Raises:
            FetchFailed: EMPTY_RESPONSE, TRUNCATED, and the errors of `add`.
        """
        await self._flush()
        if not self.raw_bytes:
            raise _empty()
        if not self._decoder.is_whole():
            raise FetchFailed(
                "TRUNCATED", f"The compressed response ended after {self.raw_bytes} bytes, before its end"
            )
        if not self.size_bytes:
            raise _empty()
        await self._in_thread(self._finish)
        return self._digest.hexdigest()

    async def close(self) -> None:
        """Remove an incomplete file. Completes even if it is cancelled meanwhile."""
        self._is_closed = True
        tidying, cancelled = asyncio.ensure_future(self._tidy()), None
        while not tidying.done():
            try:
                await asyncio.wait([tidying])
            except asyncio.CancelledError as error:
                cancelled = error
        tidying.result()
        if cancelled is not None:
            raise cancelled

    async def _tidy(self) -> None:
        if self._work is not None:
            await asyncio.wait([self._work])
            self._work.exception()  # marks it as retrieved: the caller may have been cancelled
        await asyncio.to_thread(self._discard)

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # a full disk fails again
                self._file.close()
            self._part.unlink(missing_ok=True)

    async def _flush(self) -> None:
        raw = b"".join(self._batch)
        self._batch, self._batch_bytes = [], 0
        await self._in_thread(lambda: self._write(raw))

    async def _in_thread(self, work: Callable[[], None]) -> None:
        # Shielded: a thread cannot be cancelled, and its file must stay open.
        self._work = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            await asyncio.shield(self._work)
        except OSError as error:
            if error.errno in _NO_SPACE:
                raise self._disk_full() from error
            raise FetchFailed("STORE_FAILED", f"Writing the file failed ({error.strerror})") from error

    def _open(self, announced_bytes: int) -> None:
        self._check_disk(announced_bytes)
        self._file = self._part.open("xb", buffering=0)

    def _write(self, raw: bytes) -> None:
        assert self._file is not None
        for piece in self._decoder.pieces(raw):
            if self._is_closed:
                return
            self.size_bytes += len(piece)
            if self.size_bytes > self._limits.max_bytes:
                raise self._too_large()
            if self.size_bytes > max(_RATIO_FROM_BYTES, _MAX_RATIO * self.raw_bytes):
                raise FetchFailed(
                    "RATIO_TOO_HIGH",
                    f"Decompressed, the response has more than {self.size_bytes >> 20} MiB out of {self.raw_bytes} "
                    f"bytes",
                )
            if self.size_bytes - self._checked_bytes >= _CHECK_EVERY_BYTES:
                self._checked_bytes = self.size_bytes
                self._check_disk(0)
            self._digest.update(piece)
            self._file.write(piece)

    def _finish(self) -> None:
        assert self._file is not None
        self._file.close()
        self._part.replace(self._to)

    def _check_disk(self, needed_bytes: int) -> None:
        if shutil.disk_usage(self._to.parent).free < needed_bytes + self._limits.disk_reserve_bytes:
            raise self._disk_full()

    def _too_large(self) -> FetchFailed:
        return FetchFailed("TOO_LARGE", f"The file has more than {self._limits.max_bytes} bytes")

    def _disk_full(self) -> FetchFailed:
        return FetchFailed("DISK_FULL", f"There was no disk space for the file after {self.size_bytes} bytes")


def _empty() -> FetchFailed:
    return FetchFailed("EMPTY_RESPONSE", "The server responded with an empty file")

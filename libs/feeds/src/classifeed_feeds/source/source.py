"""Open a source file: detect its container, and read its content as a bounded stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.archive import GzipStream, ZipMember, ZipStream, find_only_member
from classifeed_feeds.source.limits import Limits

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
# An empty zip archive consists only of the end of its directory.
EMPTY_ZIP_MAGIC = b"PK\x05\x06"


class ByteStream(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A local source file with its container.

    It can be opened any number of times, and yields the same bytes each time.

    Attributes:
        container: plain, gzip or zip.
        member: The file inside a zip archive; None for other containers.
    """

    path: Path
    container: str
    member: ZipMember | None
    limits: Limits

    @contextlib.contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Yield the unpacked content from its beginning.

        Raises:
            FeedFault: ARCHIVE_BROKEN, or FILE_TOO_LARGE if a limit is exceeded; also while reading.
            OSError: The disk cannot be read, which is not a fault of the file.
        """
        with self.path.open("rb") as raw:
            stream: ByteStream = raw
            if self.container == "gzip":
                stream = GzipStream(raw, self.limits)
            elif self.member is not None:
                stream = ZipStream(raw, self.member)
            yield BoundedStream(stream, packed_bytes=self.path.stat().st_size, limits=self.limits)


class BoundedStream:
    """A stream that counts its bytes, and raises FeedFault if a limit is exceeded."""

    def __init__(self, stream: ByteStream, *, packed_bytes: int, limits: Limits) -> None:
        self._stream = stream
        self._packed = max(packed_bytes, 1)
        self._limits = limits
        self.bytes_read = 0

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end. Blocks on the disk only."""
        data = self._read_some(size)
        if len(data) < size and data:
            pieces = [data]
            missing = size - len(data)
            while missing and (data := self._read_some(missing)):
                pieces.append(data)
                missing -= len(data)
            data = b"".join(pieces)
        return data

    def _read_some(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.bytes_read += len(data)
        total, limits = self.bytes_read, self._limits
        if total > limits.content_bytes:
            raise FeedFault("FILE_TOO_LARGE", f"Unpacked, the file has more than {limits.content_bytes:,} bytes")
        if total > limits.ratio_free_bytes and total > limits.ratio * self._packed:
            raise FeedFault("FILE_TOO_LARGE", f"The archive unpacks to more than {limits.ratio} times its own size")
        return data


def open_source(path: Path, limits: Limits) -> SourceFile:
    """Return the source file at `path`; its container is detected by its first bytes, never by its name.

    Raises:
        FeedFault: ARCHIVE_BROKEN, ARCHIVE_AMBIGUOUS or, for a workbook, UNKNOWN_FORMAT.
    """
    with path.open("rb") as file:
        magic = file.read(4)
        if magic.startswith(GZIP_MAGIC):
            return SourceFile(path, "gzip", None, limits)
        if magic in {ZIP_MAGIC, EMPTY_ZIP_MAGIC}:
            return SourceFile(path, "zip", find_only_member(file, limits), limits)
    return SourceFile(path, "plain", None, limits)

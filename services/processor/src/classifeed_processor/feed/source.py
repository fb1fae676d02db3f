"""Opening a source file by its content: what it is packed in, and a bounded stream of what is inside."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.limits import Limits

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


class ByteStream(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """Returns up to `size` bytes; empty at the end."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A local file as it came, and how to read what is inside it.

    It can be opened as often as wanted; each time it gives the same bytes.
    """

    path: Path
    container: str
    member: str
    limits: Limits

    @contextlib.contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Gives the unpacked content from its beginning.

        Raises:
            FeedFault: While reading: ARCHIVE_BROKEN, or FILE_TOO_LARGE when a limit is passed.
        """
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(self.path.open("rb"))
            stream: IO[bytes] = raw
            try:
                if self.container == "gzip":
                    unpacked = gzip.GzipFile(fileobj=raw, mode="rb")
                    stream = cast("IO[bytes]", stack.enter_context(contextlib.closing(unpacked)))
                elif self.container == "zip":
                    stream = stack.enter_context(zipfile.ZipFile(raw).open(self.member))
            except _BROKEN as error:
                raise FeedFault("ARCHIVE_BROKEN", f"The {self.container} archive cannot be opened: {error}") from error
            yield BoundedStream(stream, packed_bytes=self.path.stat().st_size, limits=self.limits)


_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


class BoundedStream:
    """A stream that stops with a FeedFault where a limit is passed, and that counts its bytes."""

    def __init__(self, stream: IO[bytes], *, packed_bytes: int, limits: Limits) -> None:
        self._stream = stream
        self._packed = max(packed_bytes, 1)
        self._limits = limits
        self.bytes_read = 0

    def read(self, size: int, /) -> bytes:
        """Returns up to `size` bytes; empty at the end. Blocks on the disk only."""
        try:
            data = self._stream.read(size)
        except _BROKEN as error:
            raise FeedFault("ARCHIVE_BROKEN", f"The archive is damaged or cut off: {error}") from error
        self.bytes_read += len(data)
        total, limits = self.bytes_read, self._limits
        if total > limits.content_bytes:
            raise FeedFault("FILE_TOO_LARGE", f"Unpacked, the file has more than {limits.content_bytes:,} bytes")
        if total > limits.ratio_free_bytes and total > limits.ratio * self._packed:
            raise FeedFault("FILE_TOO_LARGE", f"The archive unpacks to more than {limits.ratio} times its own size")
        return data


def open_source(path: Path, limits: Limits) -> SourceFile:
    """Returns how to read the file at `path`, found from its first bytes and never from its name.

    Raises:
        FeedFault: ARCHIVE_BROKEN, ARCHIVE_AMBIGUOUS or, for a workbook, UNKNOWN_FORMAT.
    """
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(GZIP_MAGIC):
        return SourceFile(path, "gzip", "", limits)
    if magic == ZIP_MAGIC:
        return SourceFile(path, "zip", _only_member(path), limits)
    return SourceFile(path, "plain", "", limits)


def _only_member(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except _BROKEN as error:
        raise FeedFault("ARCHIVE_BROKEN", f"The zip archive cannot be read: {error}") from error
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        raise FeedFault("UNKNOWN_FORMAT", "The file is an office document, not a feed")
    members = [
        entry
        for entry in entries
        if not entry.is_dir()
        and not entry.filename.startswith("__MACOSX/")
        and not _base(entry.filename).startswith(".")
    ]
    if len(members) != 1:
        names = ", ".join(_base(entry.filename) for entry in members[:3])
        holds = f"{len(members)} files ({names})" if members else "no file"
        raise FeedFault("ARCHIVE_AMBIGUOUS", f"The zip archive holds {holds}; exactly one is awaited")
    if members[0].flag_bits & 0x1:
        raise FeedFault("ARCHIVE_BROKEN", "The zip archive is protected by a password")
    return members[0].filename


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]

"""Read the content of a file in a zip archive."""

from __future__ import annotations

import struct
import zlib
from typing import IO, Final

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.archive.inflater import INPUT_BYTES, Inflater, cut_off
from classifeed_feeds.source.archive.zip_directory import MAGIC, ZipMember, broken

_HEADER: Final = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATE = 0, 8
# Other common methods, for messages; LZMA and others may need gigabytes of tables before the first byte.
_METHODS: Final = {
    1: "Shrink",
    6: "Implode",
    9: "Deflate64",
    12: "bzip2",
    14: "LZMA",
    93: "Zstandard",
    95: "XZ",
    98: "PPMd",
}


class ZipStream:
    """Content of a member; size and checksum are verified at the end.

    Raises:
        FeedFault: ARCHIVE_BROKEN, on opening and on reading.
    """

    def __init__(self, file: IO[bytes], member: ZipMember) -> None:
        if member.method not in {_STORED, _DEFLATE}:
            name = _METHODS.get(member.method, f"method {member.method}")
            raise FeedFault(
                "ARCHIVE_BROKEN", f"The zip archive is packed by {name}, which is not read; Deflate and Store are"
            )
        file.seek(member.offset)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(MAGIC):
            raise broken("its directory points to something else")
        *_, name_bytes, extra_bytes = _HEADER.unpack(header)
        start = member.offset + _HEADER.size + name_bytes + extra_bytes
        if start + member.packed_bytes > member.limit:
            raise broken("a file in it reaches into its directory")
        file.seek(start)
        self._file = file
        self._member = member
        self._packed_left = member.packed_bytes
        self._inflater = Inflater(self._take, "zip") if member.method == _DEFLATE else None
        self._crc = 0
        self._bytes_read = 0

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and at most `size`; empty at the end."""
        piece = self._inflater.read(size) if self._inflater is not None else self._take(size)
        self._crc = zlib.crc32(piece, self._crc)
        self._bytes_read += len(piece)
        if self._bytes_read > self._member.size_bytes or (
            not piece and (self._crc, self._bytes_read) != (self._member.crc, self._member.size_bytes)
        ):
            raise FeedFault("ARCHIVE_BROKEN", "The zip archive is damaged: its size or its checksum does not match")
        return piece

    def _take(self, size: int) -> bytes:
        data = self._file.read(min(size, self._packed_left, INPUT_BYTES))
        if not data and size and self._packed_left:
            raise cut_off("zip")
        self._packed_left -= len(data)
        return data

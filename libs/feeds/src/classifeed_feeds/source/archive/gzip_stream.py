"""Read gzip files (RFC 1952) member by member; headers are skipped in pieces."""

from __future__ import annotations

import struct
import zlib
from typing import IO, Final

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.archive.inflater import INPUT_BYTES, Inflater, cut_off
from classifeed_feeds.source.limits import Limits

MAGIC: Final = b"\x1f\x8b"
_DEFLATE: Final = 8
_HAS_CRC, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16
_RESERVED: Final = 0xE0


class GzipStream:
    """Content of all members of a gzip file.

    Zeros after a member are padding, as on tapes. Other bytes there may be the rest of a broken member, so the file is
    rejected.
    """

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file = file
        self._limits = limits
        # Bytes that were read from the file and not used yet.
        self._input = b""
        self._member: Inflater | None = None
        self._members = 0
        self._bytes_read = 0
        self._member_bytes = 0
        self._crc = 0

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and at most `size`; empty at the end of the file.

        Raises:
            FeedFault: ARCHIVE_BROKEN.
        """
        while True:
            if self._member is None and not self._begin_member():
                return b""
            assert self._member is not None
            if piece := self._member.read(size):
                self._crc = zlib.crc32(piece, self._crc)
                self._member_bytes += len(piece)
                self._bytes_read += len(piece)
                return piece
            self._end_member(self._member.rest)

    def _begin_member(self) -> bool:
        if self._members:
            self._skip_zeros()
            if not self._input:
                return False
        magic, method, flags = struct.unpack("<2sBB6x", self._take_exactly(10))
        if magic != MAGIC:
            raise FeedFault("ARCHIVE_BROKEN", "Something follows in the file after the end of the gzip archive")
        if method != _DEFLATE or flags & _RESERVED:
            raise FeedFault("ARCHIVE_BROKEN", "The gzip archive is packed with an unknown compression")
        self._count_member()
        self._skip_header(flags)
        self._member = Inflater(self._take, "gzip")
        self._member_bytes = self._crc = 0
        return True

    def _end_member(self, rest: bytes) -> None:
        self._member = None
        self._input = rest + self._input
        crc, size = struct.unpack("<II", self._take_exactly(8))
        if crc != self._crc or size != self._member_bytes & 0xFFFFFFFF:
            raise FeedFault("ARCHIVE_BROKEN", "The gzip archive is damaged: its checksum does not match")

    def _count_member(self) -> None:
        self._members += 1
        limits = self._limits
        if (self._members - limits.gzip_members) * limits.gzip_member_bytes > self._bytes_read:
            raise FeedFault(
                "ARCHIVE_BROKEN",
                f"The gzip archive has more than {limits.gzip_members:,} pieces, and they hold less than "
                f"{limits.gzip_member_bytes:,} bytes each",
            )

    def _skip_header(self, flags: int) -> None:
        left = self._limits.gzip_header_bytes
        if flags & _HAS_EXTRA:
            # At most 64 KiB by its length field.
            self._take_exactly(struct.unpack("<H", self._take_exactly(2))[0])
        for flag in (_HAS_NAME, _HAS_COMMENT):
            if flags & flag:
                left = self._skip_text(left)
        if flags & _HAS_CRC:
            self._take_exactly(2)

    def _skip_text(self, left: int) -> int:
        """Skip a zero-terminated text; return the number of bytes that the header may still have."""
        while left >= 0:
            piece = self._take_some()
            end = piece.find(b"\0")
            if end >= 0:
                self._input = piece[end + 1 :]
                return left - end
            left -= len(piece)
        limit = self._limits.gzip_header_bytes
        raise FeedFault("ARCHIVE_BROKEN", f"The gzip archive has a name or a comment of more than {limit:,} bytes")

    def _skip_zeros(self) -> None:
        while not self._input or not (rest := self._input.lstrip(b"\0")):
            self._input = self._file.read(INPUT_BYTES)
            if not self._input:
                return
        self._input = rest

    def _take(self, size: int) -> bytes:
        if not self._input:
            return self._file.read(size)
        piece, self._input = self._input[:size], self._input[size:]
        return piece

    def _take_some(self) -> bytes:
        piece = self._take(INPUT_BYTES)
        if not piece:
            raise cut_off("gzip")
        return piece

    def _take_exactly(self, size: int) -> bytes:
        while len(self._input) < size:
            more = self._file.read(max(INPUT_BYTES, size))
            if not more:
                raise cut_off("gzip")
            self._input += more
        return self._take(size) if size else b""

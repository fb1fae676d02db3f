"""Read the directory at the end of a zip file, within a size limit.

Layout: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.12 to 4.3.16 and 4.5.3.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.other_formats import WORKBOOK, WORKBOOK_FIX

MAGIC: Final = b"PK\x03\x04"
_END: Final = struct.Struct("<4s4H2IH")
_END_MAGIC: Final = b"PK\x05\x06"
_LOCATOR: Final = struct.Struct("<4sIQI")
_LOCATOR_MAGIC: Final = b"PK\x06\x07"
_END_64: Final = struct.Struct("<4sQ2H2I4Q")
_END_64_MAGIC: Final = b"PK\x06\x06"
_ENTRY: Final = struct.Struct("<4s6H3I5H2I")
_ENTRY_MAGIC: Final = b"PK\x01\x02"
_MAX_COMMENT: Final = 0xFFFF
_IN_ZIP64: Final = 0xFFFFFFFF
_ZIP64_FIELD: Final = 1
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_IS_UTF8: Final = 0x800
_SHOWN_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A file of an archive, as described in the directory.

    Attributes:
        name: Path in the archive.
        flags: General purpose bits.
        method: Compression method.
        crc: CRC-32 of the content.
        packed_bytes: Size in the archive, in bytes.
        size_bytes: Size after unpacking, in bytes.
        offset: Offset of the file's local header in the archive.
        limit: Offset before which the packed content must end: the start of the directory.
    """

    name: str
    flags: int
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int
    limit: int


@dataclass(frozen=True, slots=True)
class _Directory:
    entries: int
    size: int
    offset: int
    end: int


def find_only_member(file: IO[bytes], limits: Limits) -> ZipMember:
    """Return the only file of the archive; folders, hidden files and macOS metadata are ignored.

    Raises:
        FeedFault: ARCHIVE_BROKEN, ARCHIVE_AMBIGUOUS or, for a workbook, UNKNOWN_FORMAT.
    """
    directory = _find_directory(file)
    if directory.entries > limits.archive_entries or directory.size > limits.archive_directory_bytes:
        raise FeedFault(
            "ARCHIVE_AMBIGUOUS",
            f"The directory of the zip archive has {directory.entries:,} entries in {directory.size:,} bytes; "
            "exactly one file is expected",
        )
    entries = list(_read_entries(file, directory))
    if any(entry.name == "[Content_Types].xml" for entry in entries):
        if any(entry.name.startswith("xl/") for entry in entries):
            raise FeedFault("UNKNOWN_FORMAT", f"The file is {WORKBOOK}", fix=WORKBOOK_FIX)
        raise FeedFault("UNKNOWN_FORMAT", "The file is an office document, not a feed")
    members = [entry for entry in entries if _is_content(entry.name)]
    if len(members) != 1:
        names = ", ".join(_shown(entry.name) for entry in members[:3])
        holds = f"{len(members):,} files ({names})" if members else "no file"
        raise FeedFault("ARCHIVE_AMBIGUOUS", f"The zip archive holds {holds}; exactly one is expected")
    if members[0].flags & _ENCRYPTED:
        raise FeedFault("ARCHIVE_BROKEN", "The zip archive is protected by a password")
    return members[0]


def _find_directory(file: IO[bytes]) -> _Directory:
    size = file.seek(0, os.SEEK_END)
    tail_at = max(0, size - _MAX_COMMENT - _END.size - _LOCATOR.size)
    file.seek(tail_at)
    tail = file.read()
    at = _find_end(tail)
    if at < 0:
        raise broken("it has no directory, so it is cut off")
    _, disk, first_disk, entries_here, entries, directory_bytes, offset, _ = _END.unpack_from(tail, at)
    end = tail_at + at
    if tail[max(0, at - _LOCATOR.size) :].startswith(_LOCATOR_MAGIC) and at >= _LOCATOR.size:
        return _read_end_64(file, _LOCATOR.unpack_from(tail, at - _LOCATOR.size), end - _LOCATOR.size)
    if disk or first_disk or entries_here != entries:
        raise _split()
    return _Directory(entries, directory_bytes, offset, end)


def _find_end(tail: bytes) -> int:
    """Return the offset of the end record: the last one whose comment fills the rest, or the last one; -1: none."""
    at = last = tail.rfind(_END_MAGIC, 0, max(0, len(tail) - _END.size + len(_END_MAGIC)))
    while at >= 0:
        if at + _END.size + _END.unpack_from(tail, at)[-1] == len(tail):
            return at
        at = tail.rfind(_END_MAGIC, 0, at + len(_END_MAGIC) - 1)
    return last


def _read_end_64(file: IO[bytes], locator: tuple[bytes, int, int, int], end: int) -> _Directory:
    _, disk, offset, disks = locator
    if disk or disks > 1:
        raise _split()
    if offset + _END_64.size > end:
        raise broken("its end points outside of it")
    file.seek(offset)
    magic, _, _, _, disk, first_disk, entries_here, entries, size, start = _END_64.unpack(file.read(_END_64.size))
    if magic != _END_64_MAGIC:
        raise broken("its end points to something else")
    if disk or first_disk or entries_here != entries:
        raise _split()
    return _Directory(entries, size, start, offset)


def _read_entries(file: IO[bytes], directory: _Directory) -> Iterator[ZipMember]:
    start = directory.end - directory.size
    # Number of bytes before the archive, which must be added to each of its offsets.
    shift = start - directory.offset
    if start < 0 or shift < 0:
        raise broken("its directory lies outside of it")
    file.seek(start)
    data = file.read(directory.size)
    at = 0
    for _ in range(directory.entries):
        if not data.startswith(_ENTRY_MAGIC, at) or at + _ENTRY.size > len(data):
            raise broken("its directory has fewer files than it says")
        entry = _ENTRY.unpack_from(data, at)
        flags, method, crc, packed, unpacked = entry[3], entry[4], *entry[7:10]
        name_chars, extra_bytes, comment_bytes = entry[10:13]
        at += _ENTRY.size
        name = data[at : at + name_chars]
        extra = data[at + name_chars : at + name_chars + extra_bytes]
        at += name_chars + extra_bytes + comment_bytes
        unpacked, packed, offset = _large_values(extra, [unpacked, packed, entry[16]])
        text = name.decode("utf-8" if flags & _IS_UTF8 else "cp437", "replace")
        yield ZipMember(text, flags, method, crc, packed, unpacked, offset + shift, start)
    if at != len(data):
        raise broken("its directory has more files than it says")


def _large_values(extra: bytes, values: list[int]) -> list[int]:
    """Return sizes and offset, with values that do not fit into 32 bits read from the ZIP64 field."""
    if _IN_ZIP64 not in values:
        return values
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _ZIP64_FIELD:
            field = extra[at + 4 : at + 4 + size]
            large = iter(struct.unpack(f"<{len(field) // 8}Q", field[: len(field) // 8 * 8]))
            values = [next(large, -1) if value == _IN_ZIP64 else value for value in values]
            if -1 not in values:
                return values
            break
        at += 4 + size
    raise broken("a size in it is missing")


def _is_content(name: str) -> bool:
    base = _base(name)
    return bool(base) and not base.startswith(".") and not name.startswith("__MACOSX/")


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _shown(name: str) -> str:
    text = "".join(char if char.isprintable() else "." for char in _base(name)[: _SHOWN_CHARS + 1])
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def broken(why: str) -> FeedFault:
    """Return the fault of an inconsistent archive."""
    return FeedFault("ARCHIVE_BROKEN", f"The zip archive cannot be read: {why}")


def _split() -> FeedFault:
    return FeedFault("ARCHIVE_BROKEN", "The zip archive is split over several files, and this is one of them")

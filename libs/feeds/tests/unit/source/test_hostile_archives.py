"""Hostile archives: read, or refused with a message, within 64 MiB of additional memory, with any headers."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_feeds.faults import FeedFault

from ...conftest import Load, Scan
from ...measuring import Measured, measure

MIB = 1 << 20
# A goal of 1 s, on a machine that may be ten times slower than ours.
CPU_LIMIT_S = 10.0
GROWTH_LIMIT_MIB = 64
FEED = b'<yml_catalog><shop><offers><offer id="1"/></offers></shop></yml_catalog>'
LOCAL = struct.Struct("<4s5H3I2H")
ENTRY = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")


def deflated(data: bytes) -> bytes:
    stream = zlib.compressobj(9, wbits=-15)
    return stream.compress(data) + stream.flush()


def zip_file(
    packed: bytes | None = None,
    *,
    name: bytes = b"feed.xml",
    method: int = 8,
    flags: int = 0,
    content: bytes = FEED,
    extra: bytes = b"",
    comment: bytes = b"",
    entries: int | None = None,
    directory_size: int | None = None,
    further_entries: bytes = b"",
    entry_count: int = 1,
    disk: int = 0,
    offset: int = 0,
    packed_size: int | None = None,
) -> bytes:
    """Return a zip archive of one file, each of whose fields may be wrong."""
    packed = deflated(content) if packed is None else packed
    crc, size = zlib.crc32(content), len(content)
    said = len(packed) if packed_size is None else packed_size
    start = LOCAL.pack(b"PK\3\4", 20, flags, method, 0, 0, crc, said, size, len(name), 0) + name + packed
    entry = ENTRY.pack(
        b"PK\1\2", 20, 20, flags, method, 0, 0, crc, said, size, len(name), len(extra), 0, 0, 0, 0, offset
    )
    directory = entry + name + extra + further_entries
    end = END.pack(
        b"PK\5\6", disk, disk, entry_count if entries is None else entries,
        entry_count if entries is None else entries,
        len(directory) if directory_size is None else directory_size, len(start), len(comment),
    )  # fmt: skip
    return start + directory + end + comment


def zip64_file(entries: int = 1, size: int | None = None, disks: int = 1, offset: int | None = None) -> bytes:
    """Return the same with sizes and ends of 64 bits."""
    packed, name = deflated(FEED), b"feed.xml"
    crc = zlib.crc32(FEED)
    start = LOCAL.pack(b"PK\3\4", 45, 0, 8, 0, 0, crc, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 0) + name + packed
    extra = struct.pack("<HH3Q", 1, 24, len(FEED), len(packed), 0)
    none = 0xFFFFFFFF
    directory = (
        ENTRY.pack(b"PK\1\2", 45, 45, 0, 8, 0, 0, crc, none, none, len(name), len(extra), 0, 0, 0, 0, none)
        + name
        + extra
    )
    end_at = len(start) + len(directory)
    directory_size = len(directory) if size is None else size
    end64 = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, directory_size, len(start))
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end_at if offset is None else offset, disks)
    return start + directory + end64 + locator + END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, none, none, 0)


def bare_entries(count: int) -> Iterator[bytes]:
    entry = ENTRY.pack(b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    for _ in range(count // 1000):
        yield entry * 1000


def write_bare_directory(path: Path, *, entries: int, size: int | None = None) -> None:
    """51 MB of directory records and nothing else: a reader that trusts them takes 668 MiB."""
    count = 51_000_000 // ENTRY.size // 1000 * 1000
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        for block in bare_entries(count):
            file.write(block)
        size = count * ENTRY.size if size is None else size
        file.write(END.pack(b"PK\5\6", 0, 0, entries & 0xFFFF, entries & 0xFFFF, size, 4, 0))


def gzip_header(flags: int) -> bytes:
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\xff"


def gzip_tail(content: bytes) -> bytes:
    return struct.pack("<II", zlib.crc32(content), len(content))


EMPTY_MEMBER = gzip_header(0) + deflated(b"") + gzip_tail(b"")
TINY_MEMBER = gzip_header(0) + deflated(b" ") + gzip_tail(b" ")


def named_zip(name: str) -> bytes:
    """Return the standard library's output with another compression method."""
    methods = {"bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", methods[name]) as archive:
        archive.writestr("feed.xml", FEED)
    return buffer.getvalue()


def lzma_bomb() -> bytes:
    """Return a file packed by LZMA that asks for a table of 1.5 GiB."""
    properties = bytes([93]) + struct.pack("<I", 3 << 29)
    packed = struct.pack("<2BH", 9, 20, 5) + properties + lzma.compress(FEED, lzma.FORMAT_ALONE)[13:]
    return zip_file(packed, method=14)


SMALL: dict[str, tuple[bytes, str, str]] = {
    "a count that is too small": (zip_file(further_entries=b"".join(bare_entries(1000))), "ARCHIVE_BROKEN", "more"),
    "a count that is too large": (zip_file(entries=9), "ARCHIVE_BROKEN", "fewer files than it says"),
    "a directory that is too large": (zip_file(directory_size=4000), "ARCHIVE_BROKEN", "outside"),
    "a directory that is too small": (zip_file(directory_size=40), "ARCHIVE_BROKEN", "fewer files than it says"),
    "a directory of no size": (zip_file(directory_size=0), "ARCHIVE_BROKEN", "fewer files than it says"),
    "a password": (zip_file(flags=1), "ARCHIVE_BROKEN", "password"),
    "a strong password": (zip_file(flags=0x41), "ARCHIVE_BROKEN", "password"),
    "a part of several": (zip_file(disk=3), "ARCHIVE_BROKEN", "split over several"),
    "bzip2": (named_zip("bzip2"), "ARCHIVE_BROKEN", "bzip2"),
    "a bomb of bzip2": (zip_file(bz2.compress(bytes(3 * MIB)) * 100, method=12), "ARCHIVE_BROKEN", "bzip2"),
    "LZMA": (named_zip("lzma"), "ARCHIVE_BROKEN", "LZMA"),
    "a table of LZMA": (lzma_bomb(), "ARCHIVE_BROKEN", "LZMA"),
    "Deflate64": (zip_file(method=9), "ARCHIVE_BROKEN", "Deflate64"),
    "a method that is not known": (zip_file(method=77), "ARCHIVE_BROKEN", "method 77"),
    "a file in a place outside": (zip_file(offset=10_000_000), "ARCHIVE_BROKEN", "points to something else"),
    "a file over the directory": (zip_file(packed_size=100_000), "ARCHIVE_BROKEN", "into its directory"),
    "a wrong sum": (zip_file(deflated(FEED.replace(b"1", b"2"))), "ARCHIVE_BROKEN", "checksum"),
    "a size that is too small": (zip_file(deflated(FEED + b" ")), "ARCHIVE_BROKEN", "checksum"),
    "no data": (zip_file(b""), "ARCHIVE_BROKEN", "cut off"),
    "data that is none": (zip_file(b"\xff" * 99), "ARCHIVE_BROKEN", "damaged"),
    "a name of control characters": (
        zip_file(name=b"a\0b\x1b[31m", further_entries=next(bare_entries(1000))[: ENTRY.size], entry_count=2),
        "OK:1", "",
    ),
    "no end": (zip_file()[:-22], "ARCHIVE_BROKEN", "no directory"),
    "half an end": (zip_file()[:-11], "ARCHIVE_BROKEN", "no directory"),
    "a comment of 64 KiB": (zip_file(comment=b"c" * 65535), "OK:1", ""),
    "a comment of ends": (zip_file(comment=b"PK\5\6" * 16_000), "OK:1", ""),
    "something behind the end": (zip_file() + b"\r\n", "OK:1", ""),
    "stored": (zip_file(FEED, method=0), "OK:1", ""),
    "64 bits": (zip64_file(), "OK:1", ""),
    "64 bits, a million files": (zip64_file(entries=1 << 40, size=1 << 50), "ARCHIVE_AMBIGUOUS", "1,099,511,627,776"),
    "64 bits, several parts": (zip64_file(disks=3), "ARCHIVE_BROKEN", "split over several"),
    "64 bits, an end elsewhere": (zip64_file(offset=5), "ARCHIVE_BROKEN", "points to something else"),
    "64 bits, an end outside": (zip64_file(offset=1 << 60), "ARCHIVE_BROKEN", "points outside"),
    "a zip in a zip": (zip_file(content=zip_file()), "UNKNOWN_FORMAT", "an archive inside of an archive"),
    "a gzip in a zip": (zip_file(content=gzip.compress(FEED)), "UNKNOWN_FORMAT", "an archive inside of an archive"),
    "a zip in a gzip": (gzip.compress(zip_file()), "UNKNOWN_FORMAT", "an archive inside of an archive"),
    "a gzip in a gzip": (gzip.compress(gzip.compress(FEED)), "UNKNOWN_FORMAT", "an archive inside of an archive"),
    "a gzip with all fields": (
        gzip_header(2 | 4 | 8 | 16) + b"\5\0extra" + b"name\0comment\0hc" + deflated(FEED) + gzip_tail(FEED),
        "OK:1", "",
    ),
    "a gzip in two members": (gzip.compress(FEED[:20]) + gzip.compress(FEED[20:]), "OK:1", ""),
    "a gzip with zeros behind": (gzip.compress(FEED) + bytes(100_000), "OK:1", ""),
    "a gzip with something behind": (gzip.compress(FEED) + b"#" * 100, "ARCHIVE_BROKEN", "Something follows"),
    "a gzip with a wrong sum": (gzip.compress(FEED)[:-8] + bytes(8), "ARCHIVE_BROKEN", "checksum"),
    "a gzip with reserved flags": (gzip_header(0x80) + deflated(FEED), "ARCHIVE_BROKEN", "unknown compression"),
    "a gzip of another method": (b"\x1f\x8b\x07" + bytes(20), "ARCHIVE_BROKEN", "unknown compression"),
    "a gzip that ends in its header": (gzip_header(8) + b"name", "ARCHIVE_BROKEN", "cut off"),
    "a gzip that ends in its extra field": (gzip_header(4) + b"\xff\xff1", "ARCHIVE_BROKEN", "cut off"),
    "a gzip that ends in its sum": (gzip.compress(FEED)[:-3], "ARCHIVE_BROKEN", "cut off"),
    "1,200 members of one byte": (gzip.compress(FEED) + TINY_MEMBER * 1200, "ARCHIVE_BROKEN", "1,000 pieces"),
    "900 members of one byte": (TINY_MEMBER * 450 + gzip.compress(FEED) + TINY_MEMBER * 450, "OK:1", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SMALL)
def test_every_field_of_an_archive_may_lie(load: Load, case: str) -> None:
    content, outcome, words = SMALL[case]
    try:
        found, message = f"OK:{len(load(content).records)}", ""
    except FeedFault as fault:
        found, message = fault.code, fault.message
    assert found == outcome, message
    assert words in message
    assert message.replace("\n", "").isprintable()


def test_an_archive_of_tiny_pieces_is_read_whole(load: Load) -> None:
    """The check of the first bytes must not take the first piece for all of them."""
    content = b"\n" * 700 + FEED
    members = b"".join(gzip_header(0) + deflated(bytes([byte])) + gzip_tail(bytes([byte])) for byte in content)
    assert len(load(members).records) == 1


def test_names_are_shown_in_printable_characters(scan: Scan) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("folder/a\x1b[31m.xml", FEED)
        archive.writestr("b" * 300, FEED)
    with pytest.raises(FeedFault) as caught:
        scan(buffer.getvalue())
    assert f"2 files (a.[31m.xml, {'b' * 59}…)" in caught.value.message


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def write_pieces(path: Path, start: bytes, piece: bytes, size: int, end: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(start)
        block = piece * max(1, MIB // len(piece))
        for _ in range(size // len(block)):
            file.write(block)
        file.write(end)


Write = Callable[[Path], object]
LARGE: dict[str, tuple[Write, set[str]]] = {
    "51 MB of directory": (lambda path: write_bare_directory(path, entries=1_108_000), {"ARCHIVE_AMBIGUOUS"}),
    "51 MB of directory, said to be one file": (
        lambda path: write_bare_directory(path, entries=1), {"ARCHIVE_AMBIGUOUS"},
    ),
    "51 MB of directory, said to be one record": (
        lambda path: write_bare_directory(path, entries=1, size=ENTRY.size), {"ARCHIVE_AMBIGUOUS", "ARCHIVE_BROKEN"},
    ),
    "1,000 names of 64 KiB": (
        lambda path: path.write_bytes(zip_file(further_entries=b"".join(
            ENTRY.pack(b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, 0, 0, 65535, 0, 0, 0, 0, 0, 0) + bytes(65535)
            for _ in range(999)), entry_count=1000)), {"ARCHIVE_AMBIGUOUS"},
    ),
    "a gzip name of 50 MB": (
        lambda path: write_pieces(path, gzip_header(8), b"n", 50 * MIB, b"\0" + deflated(FEED) + gzip_tail(FEED)),
        {"ARCHIVE_BROKEN"},
    ),
    "a gzip comment of 50 MB": (
        lambda path: write_pieces(path, gzip_header(16), b"n", 50 * MIB, b"\0" + deflated(FEED) + gzip_tail(FEED)),
        {"ARCHIVE_BROKEN"},
    ),
    "2.5 million empty gzip members": (
        lambda path: write_pieces(path, gzip.compress(FEED), EMPTY_MEMBER, 50 * MIB), {"ARCHIVE_BROKEN"},
    ),
    "2.5 million empty gzip members at the beginning": (
        lambda path: write_pieces(path, b"", EMPTY_MEMBER, 50 * MIB, gzip.compress(FEED)), {"ARCHIVE_BROKEN"},
    ),
    "2.5 million gzip members of one byte": (
        lambda path: write_pieces(path, gzip.compress(FEED), TINY_MEMBER, 50 * MIB), {"ARCHIVE_BROKEN"},
    ),
    "64,000 extra fields of gzip": (
        lambda path: write_pieces(
            path, b"", gzip_header(4) + b"\0\x04" + bytes(1024) + deflated(b"") + gzip_tail(b""), 50 * MIB,
        ), {"ARCHIVE_BROKEN"},
    ),
    "50 MB of noise behind a gzip": (
        lambda path: write_pieces(path, gzip.compress(FEED), noise(MIB), 50 * MIB), {"ARCHIVE_BROKEN"},
    ),
    "50 MB of zeros behind a gzip": (
        lambda path: write_pieces(path, gzip.compress(FEED), b"\0", 50 * MIB), {"OK:1"},
    ),
    "50 MB of zeros in 50 KB of zip": (
        lambda path: path.write_bytes(zip_file(content=bytes(50 * MIB))), {"UNKNOWN_FORMAT"},
    ),
    "1 GB of blanks in 1 MB of zip": (
        lambda path: path.write_bytes(zip_file(deflated(b" " * (1024 * MIB)), content=b"")), {"ARCHIVE_BROKEN"},
    ),
}  # fmt: skip


def check(measured: Measured) -> None:
    assert measured.growth_mib <= GROWTH_LIMIT_MIB, measured
    assert measured.cpu_s <= CPU_LIMIT_S, measured


@pytest.mark.parametrize("case", LARGE)
def test_large_archives_cost_little(tmp_path: Path, case: str) -> None:
    write, outcomes = LARGE[case]
    write(tmp_path / "feed")
    measured = measure(tmp_path / "feed")
    assert measured.outcome in outcomes, measured.message
    check(measured)


NAIVE = """
import contextlib, gzip, zipfile
from classifeed_feeds.source import source

class Naive(source.SourceFile):
    @contextlib.contextmanager
    def open(self):
        with gzip.open(self.path) as stream:
            yield source.BoundedStream(stream, packed_bytes=self.path.stat().st_size, limits=self.limits)

def open_source(path, limits):
    if path.read_bytes()[:2] == b"PK":
        zipfile.ZipFile(path).infolist()
        raise FeedFault("ARCHIVE_AMBIGUOUS", "")
    return Naive(path, "gzip", None, limits)
"""


@pytest.mark.slow
@in_campaigns
@pytest.mark.parametrize(
    "case", ["51 MB of directory", "a gzip name of 50 MB", "2.5 million empty gzip members at the beginning"]
)
@in_campaigns
def test_the_readers_of_the_standard_library_cost_too_much(tmp_path: Path, case: str) -> None:
    write, _ = LARGE[case]
    write(tmp_path / "feed")
    measured = measure(tmp_path / "feed", NAIVE)
    ours = measure(tmp_path / "feed")
    assert measured.growth_mib > GROWTH_LIMIT_MIB or measured.cpu_s > 5 * max(ours.cpu_s, 0.2)

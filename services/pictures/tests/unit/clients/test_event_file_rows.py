"""Rows of event files in both formats: resuming at a row, and faults of a row or a file."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_pictures.clients.event_file_rows import read_batches
from classifeed_pictures.domain.event_files import EventFileFault
from classifeed_pictures.domain.event_rows import EventRow, WrongRow, read_row

from . import hostile_event_files
from .hostile_event_files import MIB, URL

HEADER = "url,kind,namespace,recipient,reference,event_time\n"
NOON_US = 1_795_521_600_000_000
_LONG = (pytest.mark.slow, in_campaigns)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def rows(path: Path, name: str, first: int = 0) -> list[Any]:
    """Return the rows as they are read, or their faults."""
    found: list[Any] = []
    for batch in read_batches(path, name, first):
        assert 0 < len(batch) <= 1000
        for row in batch:
            try:
                if isinstance(row, WrongRow):
                    raise row
                found.append(read_row(row))
            except WrongRow as wrong:
                found.append(str(wrong))
    return found


def test_both_formats_say_the_same(path: Path) -> None:
    expected = [
        EventRow(f"{URL},1", "requested", "offers", "shop", "к", NOON_US),
        EventRow(URL, "look_again", "", "", "", None),
        EventRow(URL, "delete", "offers", "", "", NOON_US),
    ]
    path.write_text(
        f'\ufeffkind,"url",note, namespace,recipient,reference,event_time\r\nrequested,"{URL},1",x,offers,shop,к,'
        f"2026-11-24T12:00:00Z\r\n\r\nlook_again,{URL}\r\ndelete,{URL},,offers,,,2026-11-24 15:00:00+03:00\r\n"
    )
    assert rows(path, "a.csv") == expected
    table = pa.table(
        {
            "note": [1, 2, 3],
            "event_time": pa.array([datetime(2026, 11, 24, 12), None, datetime(2026, 11, 24, 12)], pa.timestamp("ns")),
            "url": pa.array([f"{URL},1", URL, URL]).dictionary_encode(),
            "kind": pa.array([row.kind for row in expected], pa.large_string()),
            "namespace": ["offers", None, "offers"],
            "recipient": pa.array([b"shop", None, None]),
            "reference": ["к", "", ""],
        }
    )
    parquet.write_table(table, path)
    assert rows(path, "a.parquet") == expected


@pytest.mark.parametrize(
    ("values", "time_us"),
    [
        (pa.array(["2026-11-24T12:00:00Z"]), NOON_US),
        (pa.array(["2026-11-24T12:00:00"]), NOON_US),
        (pa.array([datetime(2026, 11, 24, 12, tzinfo=UTC)], pa.timestamp("s", tz="Europe/Moscow")), NOON_US),
        (pa.array([NOON_US], pa.timestamp("us")), NOON_US),
        (pa.array([date(2026, 11, 24)]), NOON_US - 12 * 3600 * 1_000_000),
        (pa.nulls(1), None),
    ],
)
def test_times_of_parquet(path: Path, values: pa.Array, time_us: int | None) -> None:
    parquet.write_table(pa.table({"url": [URL], "kind": ["look_again"], "event_time": values}), path)
    [row] = rows(path, "a.parquet")
    assert row.time_us == time_us


def test_wrong_rows_are_reported_one_by_one(path: Path) -> None:
    lines = [
        b",delete", b"%s,remove", b"%s", b"%s,delete,,,,yesterday", b"%s,delete,,,,9999-12-31T23:59:59-23:00",
        b"%s,delete,,,,,7", b"%s\xff,delete", b"%s,delete,\xff", b'"%s,delete' + b"x" * 131_072 + b'"', b"%s,delete",
    ]  # fmt: skip
    url = URL.encode()
    path.write_bytes(HEADER.encode() + b"\n".join(line.replace(b"%s", url) for line in lines) + b"\n")
    found = rows(path, "a.csv")
    assert [text if isinstance(text, EventRow) else text[:12] for text in found] == [
        "url is missi", "kind is 'rem", "kind is ''; ", "event_time i", "event_time i", "there are 7 ", "url is not U",
        "namespace is", "field larger", EventRow(URL, "delete", "", "", "", None),
    ]  # fmt: skip
    table = pa.table(
        {
            "url": pa.array([b"", None, b"\xff", URL.encode(), URL.encode()], pa.binary()),
            "kind": ["delete"] * 5,
            "event_time": pa.array([0, 0, 0, 1 << 62, 0], pa.timestamp("us")),
        }
    )
    parquet.write_table(table, path)
    found = rows(path, "a.parquet")
    assert found[:3] == ["url is missing", "url is missing", "url is not UTF-8"]
    assert found[3] == "event_time is outside of the years 1 to 9999"
    assert found[4].time_us == 0


@pytest.mark.parametrize("first", [0, 1, 999, 1000, 1001, 2500, 4999, 5000, 6000])
@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_rows_go_on_from_anywhere(path: Path, format_name: str, first: int) -> None:
    urls = [f"{URL}{number}" for number in range(5000)]
    if format_name == "csv":
        path.write_text("url,kind\n" + "".join(f"{url},delete\n\n" for url in urls))
    else:
        parquet.write_table(pa.table({"url": urls, "kind": ["delete"] * 5000}), path, row_group_size=700)
    assert [row.url for row in rows(path, f"a.{format_name}", first)] == urls[first:]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"", "neither called .parquet nor .csv"),
        ("a.csv", b"", "no column url; the columns are none"),
        ("a.csv", b"PAR1\0\0\0", "no column url"),
        ("a.csv", b"url,namespace\n", "no column kind; the columns are 'url', 'namespace'"),
        ("a.csv", b"url,kind,url\n", "the column url occurs 2 times"),
        ("a.csv", b"url,kind\n" + b"x" * (1 << 20), "a line, or a row of several lines, has more than"),
        ("a.parquet", b"", "is no Parquet file that can be read"),
        ("a.parquet", b"url,kind\n" * 10, "is no Parquet file that can be read"),
        ("a.parquet", b"PAR1" + b"\0" * 100 + b"PAR1", "is no Parquet file that can be read"),
    ],
)
def test_what_is_no_event_file_is_refused_in_words(path: Path, name: str, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(EventFileFault, match=words):
        rows(path, name)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"url": [URL]}, "no column kind"),
        ({"url": [1], "kind": ["delete"]}, "the column url is of the type int64; a text is needed"),
        ({"url": [URL], "kind": ["delete"], "event_time": [1]}, "a text or a timestamp is needed"),
        ({"url": [[URL]], "kind": ["delete"]}, "the column url is of the type list"),
    ],
)
def test_other_columns_of_parquet_are_refused_in_words(path: Path, columns: dict[str, Any], words: str) -> None:
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(EventFileFault, match=words):
        rows(path, "a.parquet")


def test_a_file_that_is_broken_in_the_middle_is_read_until_there(path: Path) -> None:
    table = pa.table({"url": [f"{URL}{number}" for number in range(3000)], "kind": ["delete"] * 3000})
    parquet.write_table(table, path, row_group_size=1000, compression="zstd")
    column = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 400] = b"\xff" * 400
    path.write_bytes(content)
    batches = read_batches(path, "a.parquet", 0)
    assert len(next(batches)) == 1000
    with pytest.raises(EventFileFault, match="cannot be read from row 1000 on"):
        next(batches)


def test_memory_is_that_of_a_batch(path: Path) -> None:
    count, chars = 50_000, 800
    with parquet.ParquetWriter(path, pa.schema({"url": pa.string(), "kind": pa.string()})) as writer:
        urls = [f"{URL}/{number:0{chars}}" for number in range(count)]
        writer.write_table(pa.table({"url": urls, "kind": ["delete"] * count}), row_group_size=count)
    del urls
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    read, arrow = 0, 0
    for batch in read_batches(path, "a.parquet", 0):
        read += len(batch)
        arrow = max(arrow, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == count
    assert peak < 10 << 20
    assert arrow < 20 << 20, f"{arrow} bytes of a row group of {count * chars}"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("dictionary", "url has 400020 bytes; 16384 are allowed"),
        pytest.param("footer lies", "url has 400020 bytes; 16384 are allowed", marks=_LONG),
        pytest.param("prefixes", "url has 400020 bytes; 16384 are allowed", marks=_LONG),
        pytest.param("dictionary of zeros", "fault: has pages in row group 0 that take", marks=_LONG),
        pytest.param("one page", "fault: has pages in row group 0 that take", marks=_LONG),
        ("one value", "fault: has pages in row group 0 that take"),
        ("arrow dictionary", "fault: has pages in row group 0 that take"),
        pytest.param("large pages", "taken", marks=_LONG),
        pytest.param("large dictionary", "taken", marks=_LONG),
        ("a value as large as may be", "taken"),
        pytest.param("csv rows", "url has 100000 characters; 16384 are allowed", marks=_LONG),
        ("csv row of many lines", "fault: a line, or a row of several lines, has more than 1048576 characters"),
    ],
)
def test_a_small_file_takes_little_memory(path: Path, tmp_path: Path, kind: str, words: str) -> None:
    name = hostile_event_files.write(kind, path)
    plain = tmp_path / "plain"
    parquet.write_table(pa.table({"url": [URL] * 5, "kind": ["delete"] * 5}), plain)
    command = [sys.executable, "-m", hostile_event_files.__name__, name, str(path), str(plain)]
    reader = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(reader.stdout)
    assert words in found["last"]
    assert found["grown_bytes"] < 64 * MIB, f"{found['grown_bytes'] / MIB:.0f} MiB"


def test_rows_with_values_that_are_too_long_are_left_out_alone(path: Path) -> None:
    long = URL + "x" * 400_000
    urls = [long if number % 10 == 0 else f"{URL}{number}" for number in range(3000)]
    parquet.write_table(pa.table({"url": urls, "kind": ["delete"] * 3000}), path, row_group_size=900)
    found = rows(path, "a.parquet")
    assert [row if isinstance(row, str) else row.url for row in found] == [
        "url has 400020 bytes; 16384 are allowed" if url is long else url for url in urls
    ]
    assert rows(path, "a.parquet", 1234) == found[1234:]


def test_a_footer_that_is_too_large_is_not_read(path: Path) -> None:
    columns = {f"column_{number:04}_{'x' * 200}": ["a"] for number in range(20_000)}
    parquet.write_table(pa.table({"url": [URL], "kind": ["delete"], **columns}), path, write_statistics=False)
    with pytest.raises(EventFileFault, match=r"has a footer of \d+ bytes; 4194304 are allowed"):
        rows(path, "a.parquet")


def test_a_file_with_too_many_rows_is_refused_before_its_first_row(path: Path) -> None:
    half = pa.table({"url": pa.nulls(5_000_001), "kind": pa.nulls(5_000_001)})
    with parquet.ParquetWriter(path, half.schema) as writer:
        for _ in range(2):
            writer.write_table(half, row_group_size=len(half))
    assert path.stat().st_size < 100_000
    with pytest.raises(EventFileFault, match="has 10000002 rows; 10000000 are allowed"):
        next(read_batches(path, "a.parquet", 0))


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", None])
@pytest.mark.parametrize("data_page_version", ["1.0", "2.0"])
def test_all_encodings_of_texts_are_read(
    path: Path, version: str, encoding: str | None, data_page_version: str
) -> None:
    urls = [f"{URL}{number}" for number in range(3000)]
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"url": encoding}} if encoding else {}
    table = pa.table({"url": urls, "kind": ["delete"] * 3000})
    parquet.write_table(table, path, version=version, data_page_version=data_page_version, **options)
    assert [row.url for row in rows(path, "a.parquet")] == urls

"""Small event files that try to fill the memory of their reader, and the child process that reads one.

Run as a program with a kind and a path, it reads the file that `write` wrote, and prints the growth of its memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from classifeed_devkit.testing.measuring.memory import peak_bytes
from classifeed_pictures.clients.event_file_rows import read_batches
from classifeed_pictures.domain.event_files import EventFileFault
from classifeed_pictures.domain.event_rows import WrongRow

MIB = 1024 * 1024
ROWS = 1000
URL = "http://example.com/a"
_LONG = URL + "x" * 400_000


def write(kind: str, path: Path) -> str:
    """Write a hostile file, and return its name."""
    if kind.startswith("csv"):
        _write_csv(kind, path)
        return "a.csv"
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "dictionary": ([_LONG] * ROWS, {}),
        "dictionary of zeros": (["\0" * (300 * MIB)], {"compression": "zstd"}),
        "prefixes": ([_LONG] * ROWS, {"use_dictionary": False, "column_encoding": {"url": "DELTA_BYTE_ARRAY"}}),
        "one page": (["\0" * 900_000] * 400, {"use_dictionary": False, "data_page_size": 1 << 30}),
        "one value": (["\0" * (400 * MIB)], {"use_dictionary": False}),
        "arrow dictionary": (
            pa.array([f"{number:0>100000}" for number in range(3000)]).dictionary_encode(),
            {"use_dictionary": False},
        ),
        "footer lies": ([_LONG] * ROWS, {}),
        "large pages": (
            [f"{URL}{number:0>110}" for number in range(100_000)],
            {"use_dictionary": False, "data_page_size": 1 << 30},
        ),
        "large dictionary": (
            [f"{URL}{number:0>110}" for number in range(30_000)],
            {"dictionary_pagesize_limit": 1 << 30},
        ),
        "a value as large as may be": (
            [URL + "x" * (5 * MIB), URL, URL],
            {"use_dictionary": False, "compression": "none"},
        ),
    }
    urls, options = kinds[kind]
    table = pa.table({"url": urls, "kind": pa.array(["delete"] * len(urls))})
    parquet.write_table(table, path, write_statistics=False, **{"compression": "zstd"} | options)
    if kind == "footer lies":
        _shrink_sizes(path)
    return "a.parquet"


def _write_csv(kind: str, path: Path) -> None:
    with path.open("w") as file:
        file.write("url,kind,note\n")
        if kind == "csv rows":
            for _ in range(3000):
                file.write(f"{'x' * 100_000},delete,\n")
        else:
            for _ in range(3_000_000):
                file.write('"a\nb","c\nd",')


def _shrink_sizes(path: Path) -> None:
    """Declare a few bytes for the column of URLs in the footer."""
    content = path.read_bytes()
    sizes = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    honest, shrunk = _varint(sizes.total_uncompressed_size), _varint(64)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    changed = content[footer:].replace(honest, shrunk.ljust(len(honest), b"\0")[:0] + _padded(64, len(honest)))
    path.write_bytes(content[:footer] + changed)


def _varint(value: int) -> bytes:
    value <<= 1  # zigzag
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _padded(value: int, length: int) -> bytes:
    """Return a number in a fixed count of bytes, padded with zero bits."""
    value <<= 1
    found = [value >> 7 * at & 127 | 128 for at in range(length)]
    return bytes([*found[:-1], found[-1] & 127])


def _read(name: str, path: Path) -> Iterator[str]:
    try:
        for batch in read_batches(path, name, 0):
            yield from (str(row) if isinstance(row, WrongRow) else "taken" for row in batch)
    except EventFileFault as fault:
        yield f"fault: {fault}"


if __name__ == "__main__":
    _write_first = sys.argv[3]
    for _ in read_batches(Path(_write_first), "a.parquet", 0):  # loads all lazy imports
        pass
    before = peak_bytes()
    last = ""
    for row in _read(sys.argv[1], Path(sys.argv[2])):
        last = row
    print(json.dumps({"last": last, "grown_bytes": peak_bytes() - before}))  # noqa: T201

"""Reads rows of a local event file, Parquet or CSV, in batches, with bounded memory for files of any size.

All calls block: run them in a thread.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from classifeed_pictures.clients.gathering import Row, gather, too_long
from classifeed_pictures.clients.parquet_event_rows import read_parquet
from classifeed_pictures.domain.event_files import EventFileFault
from classifeed_pictures.domain.event_rows import COLUMNS, WrongRow, check_columns

if TYPE_CHECKING:
    from collections.abc import Callable

_LINE_LIMIT_CHARS: Final = 1024 * 1024


def read_batches(path: Path, name: str, first_row: int) -> Iterator[list[Row]]:
    """Yield the rows from `first_row` on, at most a thousand at a time; an unreadable row is yielded as its fault.

    Args:
        path: path of the local file.
        name: name of the event file; its suffix tells the format.
        first_row: number of the first row, from 0, without the header and blank lines.

    Raises:
        EventFileFault: it is not an event file, or is broken from some row on.
    """
    if name.endswith(".parquet"):
        return read_parquet(path, first_row)
    if name.endswith(".csv"):
        return _read_csv(path, first_row)
    raise EventFileFault(f"{name} is neither called .parquet nor .csv")


def _read_csv(path: Path, first_row: int) -> Iterator[list[Row]]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = _Lines(file.readline)
        reader = csv.reader(lines)
        try:
            header = [column.strip() for column in next(reader, [])]
        except csv.Error as error:
            raise EventFileFault(f"is no CSV file: {error}") from error
        check_columns(header)
        yield from gather(islice(_rows(reader, header, lines), first_row, None))


def _rows(reader: Iterator[list[str]], header: list[str], lines: _Lines) -> Iterator[Row]:
    while True:
        lines.begin_row()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield WrongRow(str(error))
            continue
        if len(fields) > len(header):
            yield WrongRow(f"there are {len(fields)} fields, and {len(header)} columns")
        elif fields:
            row = {column: value for column, value in zip(header, fields, strict=False) if column in COLUMNS}
            yield too_long(row) or row


class _Lines:
    """Lines of a file, with a limit on characters per row: quoted fields make a row of several lines.

    Args:
        read: reads a line of at most the given number of characters.
    """

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read = read
        self._left = _LINE_LIMIT_CHARS

    def begin_row(self) -> None:
        """Reset the limit for a new row."""
        self._left = _LINE_LIMIT_CHARS

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._read(_LINE_LIMIT_CHARS)
        if not line:
            raise StopIteration
        self._left -= len(line)
        if self._left < 0 or (len(line) == _LINE_LIMIT_CHARS and line[-1] not in "\r\n"):
            raise EventFileFault(f"a line, or a row of several lines, has more than {_LINE_LIMIT_CHARS} characters")
        return line

"""Rows of a local event file, Parquet or CSV, a batch at a time, whatever the size of the file.

All of it blocks: it belongs into a thread.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from classifeed_pictures.domain.event_files import EventFileFault
from classifeed_pictures.domain.event_rows import COLUMNS, EVENT_TIME, REQUIRED, TEXTS, Value, WrongRow

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow

Row: TypeAlias = Mapping[str, Value] | WrongRow
BATCH_ROWS: Final = 1000
_LINE_LIMIT_CHARS: Final = 1024 * 1024
_BATCH_LIMIT_BYTES: Final = 128 * 1024 * 1024
_BUFFER_BYTES: Final = 1024 * 1024


def read_batches(path: Path, name: str, first_row: int) -> Iterator[list[Row]]:
    """Yield the rows from `first_row` on, at most a thousand at a time; a row that cannot be read is its fault.

    Args:
        path: where the bytes are.
        name: what the file is called; its end says what it is.
        first_row: rows are counted from 0, without the header and blank lines.

    Raises:
        EventFileFault: it is no such file, or is broken from some row on.
    """
    if name.endswith(".parquet"):
        return _read_parquet(path, first_row)
    if name.endswith(".csv"):
        return _read_csv(path, first_row)
    raise EventFileFault(f"{name} is neither called .parquet nor .csv")


def _read_csv(path: Path, first_row: int) -> Iterator[list[Row]]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(_lines(file.readline))
        try:
            header = [column.strip() for column in next(reader, [])]
        except csv.Error as error:
            raise EventFileFault(f"is no CSV file: {error}") from error
        _check_columns(header)
        rows = islice(_rows(reader, header), first_row, None)
        while batch := list(islice(rows, BATCH_ROWS)):
            yield batch


def _rows(reader: Iterator[list[str]], header: list[str]) -> Iterator[Row]:
    while True:
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
            yield dict(zip(header, fields, strict=False))


def _lines(read: Callable[[int], str]) -> Iterator[str]:
    while line := read(_LINE_LIMIT_CHARS):
        if len(line) == _LINE_LIMIT_CHARS and line[-1] not in "\r\n":
            raise EventFileFault(f"a line has more than {_LINE_LIMIT_CHARS} characters")
        yield line


def _check_columns(found: list[str]) -> None:
    for column in REQUIRED:
        if column not in found:
            shown = ", ".join(repr(each[:40]) for each in found[:20]) or "none"
            raise EventFileFault(f"there is no column {column}; the columns are {shown}")
    for column in COLUMNS:
        if found.count(column) > 1:
            raise EventFileFault(f"the column {column} is there {found.count(column)} times")


def _read_parquet(path: Path, first_row: int) -> Iterator[list[Row]]:
    import pyarrow
    from pyarrow import parquet

    row = first_row
    try:
        with parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES) as file:
            schema = file.schema_arrow
            _check_columns(schema.names)
            columns = [column for column in COLUMNS if column in schema.names]
            for column in columns:
                _check_type(column, schema.field(column).type)
            groups, skipped = _groups_from(file.metadata, first_row)
            for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False):
                if batch.nbytes > _BATCH_LIMIT_BYTES:
                    raise EventFileFault(f"rows from {row} on have {batch.nbytes} bytes a thousand")
                left = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - left.num_rows
                if left.num_rows:
                    yield _rows_of(left, columns)
                    row += left.num_rows
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of this machine, not of the file
        where = f"cannot be read from row {row} on" if row else "is no Parquet file that can be read"
        raise EventFileFault(f"{where}: {' '.join(str(error).split())[:300]}") from error


def _groups_from(metadata: Any, first_row: int) -> tuple[list[int], int]:
    """Return the row groups that are not wholly before a row, and how many rows of the first are."""
    skipped = first_row
    for group in range(metadata.num_row_groups):
        if skipped < metadata.row_group(group).num_rows:
            return list(range(group, metadata.num_row_groups)), skipped
        skipped -= metadata.row_group(group).num_rows
    return [], 0


def _check_type(column: str, found: pyarrow.DataType) -> None:
    from pyarrow import types

    value = found.value_type if types.is_dictionary(found) else found
    is_text = any(is_one(value) for is_one in (types.is_string, types.is_large_string, types.is_binary))
    is_text = is_text or types.is_large_binary(value) or types.is_null(value)
    is_time = column == EVENT_TIME and (types.is_timestamp(value) or types.is_date(value))
    if not is_text and not is_time:
        needed = "a text or a timestamp" if column == EVENT_TIME else "a text"
        raise EventFileFault(f"the column {column} is of the type {found}; {needed} is needed")


def _rows_of(batch: pyarrow.RecordBatch, columns: list[str]) -> list[Row]:
    values = [_values_of(batch.column(column), column) for column in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _values_of(column: pyarrow.Array, name: str) -> list[Value]:
    """Return values as plain texts in bytes, and times in microseconds: those of Python are checked row by row."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if name not in TEXTS and (types.is_timestamp(column.type) or types.is_date(column.type)):
        column = column.cast(pyarrow.timestamp("us"), safe=False).cast(pyarrow.int64())
    elif not types.is_null(column.type):
        column = column.cast(pyarrow.large_binary())
    found: list[Value] = column.to_pylist()
    return found

"""Reads rows of a Parquet file of events. Sizes and lengths are checked before values are read, to bound memory.

All calls block: run them in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from classifeed_pictures.clients.gathering import BATCH_ROWS, Row, gather, too_long
from classifeed_pictures.clients.parquet_pages import BrokenPages, ChunkSizes, check_footer, chunk_sizes
from classifeed_pictures.domain.event_files import EventFileFault
from classifeed_pictures.domain.event_rows import COLUMNS, EVENT_TIME, TEXTS, Value, check_columns

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

ROWS_LIMIT: Final = 10_000_000
"""Maximum rows of a Parquet file: equal rows take no bytes, yet each becomes an event."""
_BUFFER_BYTES: Final = 1024 * 1024
_GROUP_LIMIT_BYTES: Final = 40 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024
# Copies of a dictionary in memory while its longest value is sought; measured.
_DICTIONARY_COPIES: Final = 6


def read_parquet(path: Path, first_row: int) -> Iterator[list[Row]]:
    """Yield the rows from `first_row` on; see `read_batches`.

    Raises:
        EventFileFault: it is no Parquet file, has too many rows, is broken from some row on, or its pages need too much
            memory.
    """
    import pyarrow
    from pyarrow import parquet

    row = first_row
    try:
        with path.open("rb") as raw:
            check_footer(raw)
            with parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES) as file:
                for rows in gather(_rows(raw, path, file, first_row)):
                    yield rows
                    row += len(rows)
    except (pyarrow.ArrowException, BrokenPages, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a fault of this machine, not of the file
        where = f"cannot be read from row {row} on" if row else "is no Parquet file that can be read"
        raise EventFileFault(f"{where}: {' '.join(str(error).split())[:300]}") from error


def _rows(raw: BinaryIO, path: Path, file: parquet.ParquetFile, first_row: int) -> Iterator[Row]:
    columns = _columns_of(file.schema_arrow)
    metadata, skipped = file.metadata, first_row
    _check_rows(metadata)
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if skipped >= rows:
            skipped -= rows
            continue
        rows_at_once = _rows_at_once(raw, path, file, group, columns)
        for batch in file.iter_batches(rows_at_once, row_groups=[group], columns=columns, use_threads=False):
            left = batch.slice(min(skipped, batch.num_rows))
            skipped -= batch.num_rows - left.num_rows
            values = [_values_of(left.column(column), column) for column in columns]
            for row in zip(*values, strict=True):
                found = dict(zip(columns, row, strict=True))
                yield too_long(found) or found


def _check_rows(metadata: parquet.FileMetaData) -> None:
    # The rows of the row groups are counted, since these are read.
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows > ROWS_LIMIT:
        raise EventFileFault(f"has {rows} rows; {ROWS_LIMIT} are allowed. Split it")


def _columns_of(schema: pyarrow.Schema) -> list[str]:
    check_columns(schema.names)
    columns = [column for column in COLUMNS if column in schema.names]
    for column in columns:
        _check_type(column, schema.field(column).type)
    return columns


def _check_type(column: str, found: pyarrow.DataType) -> None:
    from pyarrow import types

    value = found.value_type if types.is_dictionary(found) else found
    is_text = any(is_one(value) for is_one in (types.is_string, types.is_large_string, types.is_binary))
    is_text = is_text or types.is_large_binary(value) or types.is_null(value)
    is_time = column == EVENT_TIME and (types.is_timestamp(value) or types.is_date(value))
    if not is_text and not is_time:
        needed = "a text or a timestamp" if column == EVENT_TIME else "a text"
        raise EventFileFault(f"the column {column} is of the type {found}; {needed} is needed")


def _rows_at_once(raw: BinaryIO, path: Path, file: parquet.ParquetFile, group: int, columns: list[str]) -> int:
    """Return the number of rows of a row group per read, so that repeated values stay small.

    Raises:
        EventFileFault: the pages of the row group need too much memory.
    """
    metadata = file.metadata.row_group(group)
    chunks = {chunk.path_in_schema: chunk for chunk in map(metadata.column, range(metadata.num_columns))}
    sizes = {column: chunk_sizes(raw, chunks[column]) for column in columns}
    needed = sum(_memory_of(each) for each in sizes.values())
    needed += _DICTIONARY_COPIES * max(each.dictionary for each in sizes.values())
    for column, each in sizes.items():
        if _is_dictionary(file.schema_arrow.field(column).type):
            needed += each.plain  # Arrow keeps all values of the row group in memory
    if needed > _GROUP_LIMIT_BYTES:
        raise EventFileFault(
            f"has pages in row group {group} that take {needed} bytes of memory; {_GROUP_LIMIT_BYTES} are allowed. "
            "Write row groups with fewer rows"
        )
    longest = sum(each.prefixed for each in sizes.values())
    longest += _longest_in_dictionaries(path, group, [column for column, each in sizes.items() if each.dictionary])
    return max(1, min(BATCH_ROWS, _READ_BYTES // max(longest, 1)))


def _memory_of(sizes: ChunkSizes) -> int:
    # Arrow copies the dictionary and the values of a data page.
    return 2 * (sizes.dictionary + sizes.data) + sizes.compressed


def _longest_in_dictionaries(path: Path, group: int, columns: list[str]) -> int:
    """Return the sum over columns of the longest value in the dictionary, without decoding the rows."""
    import pyarrow.compute
    from pyarrow import parquet, types

    longest = 0
    for column in columns:
        with parquet.ParquetFile(path, read_dictionary=[column], buffer_size=_BUFFER_BYTES) as file:
            if not types.is_dictionary(file.schema_arrow.field(column).type):
                continue  # numbers, as times are
            for batch in file.iter_batches(1, row_groups=[group], columns=[column], use_threads=False):
                lengths = pyarrow.compute.binary_length(batch.column(0).dictionary)
                longest += pyarrow.compute.max(lengths).as_py() or 0
                break
    return longest


def _is_dictionary(found: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(found))


def _values_of(column: pyarrow.Array, name: str) -> list[Value]:
    """Return texts as bytes and times as microseconds; Python checks them row by row later."""
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

"""Batches of rows of an event file, bounded by rows and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from classifeed_pictures.domain.event_rows import Value, WrongRow

Row: TypeAlias = Mapping[str, Value] | WrongRow
BATCH_ROWS: Final = 1000
VALUE_LIMIT: Final = 16 * 1024
"""Maximum characters or bytes of a value; the longest accepted URL has fewer."""
_BATCH_LIMIT: Final = 4 * 1024 * 1024


def too_long(row: Mapping[str, Value]) -> WrongRow | None:
    """Return the fault of a row with a value that is too long, without the value."""
    for column, value in row.items():
        if isinstance(value, str | bytes) and len(value) > VALUE_LIMIT:
            unit = "bytes" if isinstance(value, bytes) else "characters"
            return WrongRow(f"{column} has {len(value)} {unit}; {VALUE_LIMIT} are allowed")
    return None


def gather(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches of at most a thousand rows and about 4 MiB."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        if not isinstance(row, WrongRow):
            size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if len(batch) == BATCH_ROWS or size > _BATCH_LIMIT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

"""The tables in a backup with their declared columns, so that new columns are included without a change here.

Modules that read declarations and files are imported by the first backup, since most processes make none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow
    from sqlalchemy import Column

SHARDED: Final = ("pictures", "requests_in_flight", "stored_pictures", "settled_requests")
"""Tables with a hash of a URL: a snapshot has the rows of one range of hashes."""
RESULTS: Final = "outbox"
MARK: Final = "mark"
WHOLE: Final = ("namespaces", "event_files", RESULTS)
"""Tables of the last snapshot."""


def columns_of(name: str) -> list[Column[object]]:
    """Return the columns of a table, except computed ones, those with an identity, and marks."""
    from classifeed_pictures.store.tables import metadata

    table = metadata.tables[name]
    return [
        column
        for column in table.columns
        if column.computed is None and column.identity is None and column.name != MARK
    ]


def names_of(name: str) -> list[str]:
    """Return the names of the columns of a table in a backup."""
    return [column.name for column in columns_of(name)]


def is_json(column: Column[object]) -> bool:
    """Return whether a column is stored as JSON text."""
    from sqlalchemy.types import JSON

    return isinstance(column.type, JSON)


def schema_of(name: str) -> pyarrow.Schema:
    """Return the Parquet schema of the columns of a table.

    Raises:
        TypeError: a column has a type without a counterpart.
    """
    import pyarrow

    return pyarrow.schema([(column.name, _type_of(column)) for column in columns_of(name)])


def _type_of(column: Column[object]) -> pyarrow.DataType:
    import pyarrow
    from sqlalchemy import BigInteger, Boolean, DateTime, Integer, LargeBinary, SmallInteger, Text

    if is_json(column):
        return pyarrow.string()
    # Subclasses come before their base.
    for kind, found in (
        (LargeBinary, pyarrow.binary()),
        (Text, pyarrow.string()),
        (Boolean, pyarrow.bool_()),
        (BigInteger, pyarrow.int64()),
        (SmallInteger, pyarrow.int16()),
        (Integer, pyarrow.int32()),
        (DateTime, pyarrow.timestamp("us", tz="UTC")),
    ):
        if isinstance(column.type, kind):
            return found
    raise TypeError(f"the column {column} has the type {column.type}, which backups do not carry yet")

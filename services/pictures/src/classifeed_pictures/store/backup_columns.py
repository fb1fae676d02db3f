"""The tables that a backup carries, with their columns as they are declared: further ones are carried by themselves.

What reads declarations and files is imported by the first backup: most processes make none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow
    from sqlalchemy import Column

SHARDED: Final = ("pictures", "requests_in_flight", "stored_pictures", "settled_requests")
"""Tables whose rows belong to the hash of a URL: a snapshot has those of one range of hashes."""
RESULTS: Final = "outbox"
MARK: Final = "mark"
WHOLE: Final = ("namespaces", "event_files", RESULTS)
"""Tables that one snapshot after all others has."""


def columns_of(name: str) -> list[Column[object]]:
    """Return the columns of a table, without computed ones, those that the server draws, and marks."""
    from classifeed_pictures.store.tables import metadata

    table = metadata.tables[name]
    return [
        column
        for column in table.columns
        if column.computed is None and column.identity is None and column.name != MARK
    ]


def names_of(name: str) -> list[str]:
    """Return the names of the columns of a table that a backup carries."""
    return [column.name for column in columns_of(name)]


def is_json(column: Column[object]) -> bool:
    """Return whether a column is carried as the text of its JSON."""
    from sqlalchemy.types import JSON

    return isinstance(column.type, JSON)


def schema_of(name: str) -> pyarrow.Schema:
    """Return how the columns of a table are written.

    Raises:
        TypeError: a column has a type that has no counterpart yet.
    """
    import pyarrow

    return pyarrow.schema([(column.name, _type_of(column)) for column in columns_of(name)])


def _type_of(column: Column[object]) -> pyarrow.DataType:
    import pyarrow
    from sqlalchemy import BigInteger, Boolean, DateTime, Integer, LargeBinary, SmallInteger, Text

    if is_json(column):
        return pyarrow.string()
    # A subclass comes before its base.
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

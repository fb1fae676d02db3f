"""The table `table_marks`, and the tables whose rows have marks (ADR 0101)."""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

STATES: Final = "pictures"
REQUESTS: Final = ("requests_in_flight", "settled_requests")
STORED: Final = "stored_pictures"
EVENT_FILES: Final = "event_files"


class MarkedTable(NamedTuple):
    """A table that has marks.

    Attributes:
        name: Of the table.
        is_never_empty: Whether it is emptied only by a fault, once it has rows.
    """

    name: str
    is_never_empty: bool


TABLES: Final = (
    MarkedTable(STATES, is_never_empty=True),
    MarkedTable(REQUESTS[0], is_never_empty=False),
    MarkedTable(REQUESTS[1], is_never_empty=True),
    MarkedTable(STORED, is_never_empty=True),
    MarkedTable("blobs", is_never_empty=False),
    MarkedTable("blob_refs", is_never_empty=False),
    MarkedTable("namespace_usage", is_never_empty=False),
    MarkedTable(EVENT_FILES, is_never_empty=False),
)


def add_marks(metadata: MetaData) -> Table:
    """Declare `table_marks`, and the column `mark` of the tables that are watched (ADR 0101)."""
    for name, _ in TABLES:
        marked = metadata.tables[name]
        # {"number": …, "positions": […]}, in a few rows; see classifeed_pictures.store.marks.
        marked.append_column(Column("mark", JSONB))
        Index(
            f"{name}_marked",
            text("((mark->>'number')::bigint)"),
            _table=marked,
            postgresql_where=marked.c.mark.is_not(None),
        )
    return Table(
        "table_marks",
        metadata,
        Column("name", Text, primary_key=True),
        # The newest number of its marks.
        Column("number", BigInteger, nullable=False, server_default=text("0")),
        # Whether rows had this number.
        Column("has_rows", Boolean, nullable=False, server_default=text("false")),
        # Null: the table is mended, or was never restored alone.
        Column("noticed_at", DateTime(timezone=True)),
        Column("restored_to", DateTime(timezone=True)),
        # Positions of the events group up to which events are applied again.
        Column("targets", JSONB),
        # Hash of the last state that was compared with what is stored; null: none is to be compared.
        Column("checked_through", LargeBinary),
        Column("lost_puts", BigInteger, nullable=False, server_default=text("0")),
    )

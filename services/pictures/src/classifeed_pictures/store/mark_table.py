"""The table `table_marks`, and the marks of other tables, for the metadata of the service."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from classifeed_pictures.domain.marked_tables import TABLES


def add_marks(metadata: MetaData) -> Table:
    """Declare `table_marks`, and the column `mark` of the marked tables (ADR 0101)."""
    for table in TABLES:
        marked = metadata.tables[table.name]
        # {"number": …, "positions": […]}, in a few rows; see classifeed_pictures.store.backups.marks.
        marked.append_column(Column("mark", JSONB))
        Index(
            f"{table.name}_marked",
            text("((mark->>'number')::bigint)"),
            _table=marked,
            postgresql_where=marked.c.mark.is_not(None),
        )
    return Table(
        "table_marks",
        metadata,
        Column("name", Text, primary_key=True),
        # The newest recorded number of its marks.
        Column("number", BigInteger, nullable=False, server_default=text("0")),
        # Whether rows had this number.
        Column("has_rows", Boolean, nullable=False, server_default=text("false")),
        # Null: the table is repaired, or was never restored without the others.
        Column("noticed_at", DateTime(timezone=True)),
        Column("restored_to", DateTime(timezone=True)),
        # Positions of the events group up to which events are applied again.
        Column("targets", JSONB),
        # Hash of the last checked state; null: no check is needed.
        Column("checked_through", LargeBinary),
        Column("lost_puts", BigInteger, nullable=False, server_default=text("0")),
    )

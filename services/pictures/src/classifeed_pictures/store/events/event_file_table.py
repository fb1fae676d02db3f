"""The table `event_files`, for the metadata of the service."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Index, MetaData, Table, Text, text

_ZERO = text("0")


def add_event_files(metadata: MetaData) -> Table:
    """Declare `event_files`: one row per event file in the bucket, by name and ETag, until it is removed."""
    table = Table(
        "event_files",
        metadata,
        Column("name", Text, primary_key=True),
        Column("etag", Text, primary_key=True),
        Column("size_bytes", BigInteger, nullable=False),
        Column("put_at", DateTime(timezone=True), nullable=False),
        Column(
            "state",
            Text,
            CheckConstraint("state IN ('WAITING', 'DONE', 'FAILED', 'REPLACED')"),
            nullable=False,
            server_default=text("'WAITING'"),
        ),
        Column("rows", BigInteger, nullable=False, server_default=_ZERO),
        Column("wrong_rows", BigInteger, nullable=False, server_default=_ZERO),
        Column("error", Text),
        Column("listed_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
        Column("ended_at", DateTime(timezone=True)),
        CheckConstraint("(state = 'WAITING') = (ended_at IS NULL)"),
    )
    Index("event_files_ended", table.c.ended_at, postgresql_where=table.c.ended_at.isnot(None))
    return table

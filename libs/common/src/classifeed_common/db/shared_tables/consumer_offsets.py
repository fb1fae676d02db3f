"""The table of `ddl("consumer_offsets", …)`."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Integer, MetaData, Table, Text, text


def add_consumer_offsets(metadata: MetaData) -> Table:
    """Declare `consumer_offsets` in a service's metadata."""
    return Table(
        "consumer_offsets",
        metadata,
        Column("group", Text, primary_key=True),
        Column("topic", Text, primary_key=True),
        Column("partition", Integer, primary_key=True, autoincrement=False),
        Column("topic_id", Text, nullable=False),
        Column("next", BigInteger, CheckConstraint("next >= 0"), nullable=False),
        Column("updated_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    )

"""The table of `ddl("outbox", …)`."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)


def add_outbox(metadata: MetaData) -> Table:
    """Declare `outbox` in a service's metadata."""
    return Table(
        "outbox",
        metadata,
        Column("shard", SmallInteger, primary_key=True, autoincrement=False),
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        Column("topic", Text, nullable=False),
        Column("partition", Integer),
        Column("key", LargeBinary),
        Column("value", LargeBinary, nullable=False),
        Column("headers", JSON, nullable=False),
        Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    )

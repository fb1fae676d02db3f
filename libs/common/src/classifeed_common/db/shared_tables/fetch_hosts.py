"""The table of `ddl("fetch_hosts", …)`, in version 2."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Index,
    MetaData,
    Table,
    Text,
    text,
)


def add_fetch_hosts(metadata: MetaData) -> Table:
    """Declare `fetch_hosts` in a service's metadata."""
    never = text("'-infinity'")
    table = Table(
        "fetch_hosts",
        metadata,
        Column("host", Text, primary_key=True),
        Column("rate", Double, CheckConstraint("rate > 0"), nullable=False),
        Column("sent_at", DateTime(timezone=True), nullable=False, server_default=never),
        Column("held", ARRAY(BigInteger), nullable=False, server_default=text("'{}'")),
        Column("paused_until", DateTime(timezone=True), nullable=False, server_default=never),
        Column("ok_count", BigInteger, nullable=False, server_default=text("0")),
        Column("slow_down_count", BigInteger, nullable=False, server_default=text("0")),
        Column("failed_count", BigInteger, nullable=False, server_default=text("0")),
        Column("version", BigInteger, nullable=False, server_default=text("1")),
        Column("updated_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
        Column("refused_since", DateTime(timezone=True)),
    )
    Index("fetch_hosts_refused", table.c.refused_since, postgresql_where=table.c.refused_since.is_not(None))
    return table

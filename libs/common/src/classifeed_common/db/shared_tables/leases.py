"""The table of `ddl("leases", …)`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Index, MetaData, Table, Text


def add_leases(metadata: MetaData) -> Table:
    """Declare `leases` in a service's metadata."""
    table = Table(
        "leases",
        metadata,
        Column("name", Text, primary_key=True),
        Column("holder", Text, nullable=False),
        Column("fence", BigInteger, nullable=False),
        Column("expires_at", DateTime(timezone=True), nullable=False),
        Column("member_of", Text),
    )
    Index("leases_member_of", table.c.member_of, postgresql_where=table.c.member_of.is_not(None))
    return table

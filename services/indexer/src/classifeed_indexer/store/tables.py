"""Tables of the schema `indexer`."""

from __future__ import annotations

import sqlalchemy as sa

from classifeed_common.db import shared_tables

metadata = sa.MetaData()

# The delivered offset of each group, queue and shard.
offsets = sa.Table(
    "offsets",
    metadata,
    sa.Column("group", sa.Text, primary_key=True),
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("queue", sa.SmallInteger, sa.CheckConstraint("queue BETWEEN 1 AND 3"), primary_key=True),
    sa.Column("shard", sa.SmallInteger, sa.CheckConstraint("shard BETWEEN 0 AND 63"), primary_key=True),
    sa.Column("idx", sa.BigInteger, sa.CheckConstraint("idx >= 0"), nullable=False),
    sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
)

# Shards to refill from the registry, with the progress of the refill: the last document read, and the last element put
# into the queue `emergency`. Another request has another time and restarts the refill.
refills = sa.Table(
    "refills",
    metadata,
    sa.Column("group", sa.Text, primary_key=True),
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("shard", sa.SmallInteger, sa.CheckConstraint("shard BETWEEN 0 AND 63"), primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("after_hash", sa.BigInteger),
    sa.Column("after_pk", sa.Text),
    sa.Column("last_idx", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("documents", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("is_scanned", sa.Boolean, nullable=False, server_default=sa.false()),
)

shared_tables.add_leases(metadata)

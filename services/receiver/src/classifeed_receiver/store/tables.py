"""Tables of the schema `receiver`."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

schemas = sa.Table(
    "schemas",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, sa.CheckConstraint("epoch > 0"), primary_key=True, autoincrement=False),
    sa.Column("state", sa.SmallInteger, sa.CheckConstraint("state BETWEEN 1 AND 3"), nullable=False),
    sa.Column("schema", sa.LargeBinary, nullable=False),
    sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
)
sa.Index("schemas_active", schemas.c.client, unique=True, postgresql_where=schemas.c.state == 2)

# The registry: the freshest document or tombstone of each key. A shard is a range of `hash`.
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("hash", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("pk", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("modify_timestamp", sa.DateTime(timezone=True), nullable=False),
    sa.Column("status", sa.SmallInteger, sa.CheckConstraint("status BETWEEN 1 AND 3"), nullable=False),
    sa.Column("compression", sa.SmallInteger, sa.CheckConstraint("compression BETWEEN 0 AND 1"), nullable=False),
    sa.Column("expires_at", sa.DateTime(timezone=True)),
    sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),
    # Checksum of compression, document, key and freshness; NULL in rows of earlier releases (ADR 0092).
    sa.Column("checksum", sa.BigInteger),
)
sa.Index(
    "documents_expiring",
    documents.c.expires_at,
    postgresql_where=sa.and_(documents.c.status == 1, documents.c.expires_at.is_not(None)),
)
sa.Index("documents_tombstones", documents.c.stored_at, postgresql_where=documents.c.status == 2)
sa.Index(
    "documents_damaged",
    documents.c.client,
    documents.c.hash,
    documents.c.pk,
    postgresql_where=documents.c.status == 3,
)

# Ends of each shard of each queue. The lock on this row makes idx grow in commit order.
shards = sa.Table(
    "shards",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("queue", sa.SmallInteger, sa.CheckConstraint("queue BETWEEN 1 AND 3"), primary_key=True),
    sa.Column("shard", sa.SmallInteger, sa.CheckConstraint("shard BETWEEN 0 AND 63"), primary_key=True),
    sa.Column("last_idx", sa.BigInteger, nullable=False),
    sa.Column("trimmed_idx", sa.BigInteger, nullable=False, server_default="0"),
    sa.CheckConstraint("trimmed_idx <= last_idx"),
)

elements = sa.Table(
    "elements",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("queue", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.BigInteger, nullable=False),
    sa.Column("pk", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("modify_timestamp", sa.DateTime(timezone=True), nullable=False),
    # W3C header of the trace of the document's push; only few elements have one.
    sa.Column("traceparent", sa.Text),
)

# Reasons of failed elements by the position they were read from; failed_idx is their index in the queue `failed`.
failures = sa.Table(
    "failures",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("queue", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("pk", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("failed_idx", sa.BigInteger, nullable=False),
    sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
)

progress = sa.Table(
    "progress",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("group", sa.Text, primary_key=True),
    sa.Column("queue", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.BigInteger, nullable=False),
    sa.Column("reported_at", sa.DateTime(timezone=True), nullable=False),
)

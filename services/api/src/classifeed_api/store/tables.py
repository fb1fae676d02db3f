"""Tables of the schema `api`."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, UUID

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = sa.MetaData()

uploads = sa.Table(
    "uploads",
    metadata,
    sa.Column("upload_id", UUID(as_uuid=True), primary_key=True),
    sa.Column("seller_id", sa.Text, nullable=False),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text),
    sa.Column("mode", sa.SmallInteger, nullable=False),
    sa.Column("disposition", sa.SmallInteger, nullable=False),
    sa.Column("default_currency", sa.Text, nullable=False, server_default=""),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    # Whether its load may remove any number of offers; otherwise a load that removes too many is held.
    sa.Column("allow_removals", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("allow_changes", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("task_id", sa.BigInteger),
    sa.Column("stored", sa.Boolean, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("published_version", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    # W3C headers of the trace in which it was acknowledged; its task belongs to the same trace.
    sa.Column("trace_context", JSONB),
)
sa.Index(
    "uploads_request_id",
    uploads.c.seller_id,
    uploads.c.request_id,
    unique=True,
    postgresql_where=uploads.c.request_id.isnot(None),
)
sa.Index(
    "uploads_due_in_line",
    uploads.c.seller_id,
    uploads.c.namespace,
    uploads.c.version,
    postgresql_where=uploads.c.version > uploads.c.published_version,
)
sa.Index(
    "uploads_by_namespace",
    uploads.c.seller_id,
    uploads.c.namespace,
    uploads.c.version,
    postgresql_where=uploads.c.stored,
)

feed = sa.Table(
    "feed",
    metadata,
    sa.Column("seller_id", sa.Text, primary_key=True),
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("published_version", sa.BigInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("settings", sa.LargeBinary, nullable=False),
    sa.Column("sealed_credentials", sa.LargeBinary, nullable=False),
    sa.Column("request_id", sa.Text),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    # False for the removed feed of a namespace that was filled by uploads only.
    sa.Column("has_link", sa.Boolean, nullable=False, server_default=sa.true()),
)
sa.Index("feed_due", feed.c.version, postgresql_where=feed.c.version > feed.c.published_version)

feed_deletions = sa.Table(
    "feed_deletions",
    metadata,
    sa.Column("seller_id", sa.Text, primary_key=True),
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("published_version", sa.BigInteger, nullable=False),
    sa.Column("disposition", sa.SmallInteger, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("trace_context", JSONB),
)
sa.Index(
    "feed_deletions_due",
    feed_deletions.c.seller_id,
    feed_deletions.c.namespace,
    feed_deletions.c.version,
    postgresql_where=feed_deletions.c.version > feed_deletions.c.published_version,
)

shared_tables.add_blob_refs(metadata)
shared_tables.add_leases(metadata)
add_jobs(metadata)

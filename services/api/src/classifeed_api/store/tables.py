"""Tables of the schema `api`."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import UUID

from classifeed_common.db import shared_tables

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
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("task_id", sa.BigInteger),
    sa.Column("stored", sa.Boolean, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("published_version", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
)
sa.Index(
    "uploads_request_id",
    uploads.c.seller_id,
    uploads.c.request_id,
    unique=True,
    postgresql_where=uploads.c.request_id.isnot(None),
)
sa.Index("uploads_due", uploads.c.created_at, postgresql_where=uploads.c.version > uploads.c.published_version)

shared_tables.add_blob_refs(metadata)
shared_tables.add_leases(metadata)

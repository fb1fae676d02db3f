"""The tables of `ddl("blob_refs", …)`."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, ForeignKey, Index, MetaData, Table, Text, text


def add_blob_refs(metadata: MetaData) -> tuple[Table, Table]:
    """Declare `blobs` and `blob_refs` in a service's metadata."""
    blobs = Table(
        "blobs",
        metadata,
        Column("sha256", Text, CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'"), primary_key=True),
        Column("ref_count", BigInteger, CheckConstraint("ref_count >= 0"), nullable=False, server_default=text("0")),
        Column("touched_at", DateTime(timezone=True), nullable=False),
    )
    Index("blobs_unreferenced", blobs.c.touched_at, postgresql_where=blobs.c.ref_count == 0)
    refs = Table(
        "blob_refs",
        metadata,
        Column("ref", Text, primary_key=True),
        Column("sha256", Text, ForeignKey("blobs.sha256"), primary_key=True),
    )
    Index("blob_refs_sha256", refs.c.sha256)
    return blobs, refs

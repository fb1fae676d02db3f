"""Tables of the schema `loader`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = MetaData()
_FETCH_ID = text("(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000 + nextval('feed_fetches_in_ms') - 1")
_NOW = text("clock_timestamp()")
_ZERO = text("0")


def _namespace_key() -> list[Column[str]]:
    return [Column("seller_id", Text, primary_key=True), Column("namespace", Text, primary_key=True)]


# Sources: links and their schedules. Removed ones stay, since their version must be remembered.
feed_loader_task = Table(
    "feed_loader_task",
    metadata,
    *_namespace_key(),
    Column("feed_loader_task_id", BigInteger, Identity(always=True), nullable=False),
    Column("feed_version", BigInteger, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("sealed_credentials", LargeBinary, nullable=False),
    Column("interval_s", Float, nullable=False),
    Column("mode", SmallInteger, nullable=False),
    Column("disposition", SmallInteger, nullable=False),
    Column("format", Text, nullable=False),
    Column("default_currency", Text, nullable=False, server_default=""),
    # Headers of the response with the file last_hash; empty: the next fetch is unconditional.
    Column("etag", Text, nullable=False, server_default=""),
    Column("last_modified", Text, nullable=False, server_default=""),
    Column("last_hash", Text, nullable=False, server_default=""),
    Column("last_bytes", BigInteger, nullable=False, server_default=_ZERO),
    # The fetch that brought that file; its reference keeps the file.
    Column("last_result_id", BigInteger, nullable=False, server_default=_ZERO),
    # Time of the last success; an unchanged file counts.
    Column("last_fetched_at", DateTime(timezone=True)),
    # Null unless ACTIVE.
    Column("next_due_at", DateTime(timezone=True)),
    Column("failures", Integer, nullable=False, server_default=_ZERO),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    UniqueConstraint("feed_loader_task_id"),
)
Index(
    "feed_loader_task_due",
    feed_loader_task.c.next_due_at,
    feed_loader_task.c.last_fetched_at.nulls_first(),
    postgresql_where=feed_loader_task.c.next_due_at.is_not(None),
)

feed_fetches = Table(
    "feed_fetches",
    metadata,
    *_namespace_key(),
    # Never below the clock in µs, so that a restored database does not reuse the id of a lost fetch.
    Column("feed_loader_result_id", BigInteger, primary_key=True, autoincrement=False, server_default=_FETCH_ID),
    Column("feed_version", BigInteger, nullable=False),
    Column("trigger", SmallInteger, nullable=False),
    Column("forced", Boolean, nullable=False, server_default=text("false")),
    Column("request_id", Text),
    # Due time of a scheduled fetch.
    Column("slot_at", DateTime(timezone=True)),
    Column("outcome", SmallInteger, nullable=False),
    Column("code", Text, nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    Column("http_status", Integer, nullable=False, server_default=_ZERO),
    Column("bytes", BigInteger, nullable=False, server_default=_ZERO),
    # Set once the file is stored, which is then not downloaded again.
    Column("sha256", Text, nullable=False, server_default=""),
    Column("final_url", Text, nullable=False, server_default=""),
    Column("etag", Text, nullable=False, server_default=""),
    Column("last_modified", Text, nullable=False, server_default=""),
    Column("task", Text, nullable=False, server_default=""),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("started_at", DateTime(timezone=True)),
    Column("downloaded_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
)
Index(
    "feed_fetches_request",
    feed_fetches.c.seller_id,
    feed_fetches.c.request_id,
    unique=True,
    postgresql_where=feed_fetches.c.request_id.is_not(None),
)
# A slot is fetched once, and each source has at most one open scheduled fetch.
Index(
    "feed_fetches_slot",
    feed_fetches.c.seller_id,
    feed_fetches.c.namespace,
    feed_fetches.c.slot_at,
    unique=True,
    postgresql_where=feed_fetches.c.slot_at.is_not(None),
)
Index(
    "feed_fetches_scheduled",
    feed_fetches.c.seller_id,
    feed_fetches.c.namespace,
    unique=True,
    postgresql_where=feed_fetches.c.slot_at.is_not(None) & feed_fetches.c.ended_at.is_(None),
)

shared_tables.add_leases(metadata)
shared_tables.add_blob_refs(metadata)
shared_tables.add_fetch_hosts(metadata)
add_jobs(metadata)

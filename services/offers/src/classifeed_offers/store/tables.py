"""Tables of the schema `offers`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = MetaData()
_NOW = text("clock_timestamp()")

offers = Table(
    "offers",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("external_id", Text, primary_key=True),
    # Short key of the offer in `seen` and in the sweep: 8 bytes instead of three texts.
    Column("offer_id", BigInteger, Identity(always=True), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    # Content that the search shows while `content` awaits its verdict; null: the same.
    Column("published_content", LargeBinary),
    Column("origin", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("last_task_id", BigInteger, nullable=False),
    # Place of the offer in the file of that task, from 1; 0: the file lacks it, or the row is older than the column.
    Column("last_ordinal", BigInteger, nullable=False, server_default=text("0")),
    Column("last_line", BigInteger, nullable=False, server_default=text("0")),
    Column("last_change", Text, nullable=False),
    Column("moderation", Text, nullable=False),
    # Hashes of the current and of the approved text; null in rows from before texts were hashed.
    Column("text_hash", LargeBinary),
    Column("approved_text_hash", LargeBinary),
    # The Ban of the current text; null: none is known.
    Column("ban", LargeBinary),
    # Time of the last request for a verdict about the text; null: none is awaited.
    Column("text_requested_at", DateTime(timezone=True)),
    # Time of moderation's decision about the current text: of two outcomes, the later one wins.
    Column("text_decided_at", DateTime(timezone=True)),
    # PictureRecords of its pictures; null: it has none, or they were never requested.
    Column("pictures", LargeBinary),
    # PictureRecords of failed pictures, for the next load; null: none failed.
    Column("picture_faults", LargeBinary),
    # Time of the oldest request without a result; null: no result is awaited. `-infinity`: its links have changed, and
    # were not requested yet.
    Column("pictures_requested_at", DateTime(timezone=True)),
    Column("version", BigInteger, nullable=False),
    Column("published_version", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("offers_offer_id", offers.c.offer_id, unique=True)
Index("offers_removed", offers.c.updated_at, postgresql_where=offers.c.status == "REMOVED")
# By version: changes are published in their order, regardless of the seller.
Index("offers_due", offers.c.version, postgresql_where=offers.c.version > offers.c.published_version)
Index("offers_texts_waiting", offers.c.text_requested_at, postgresql_where=offers.c.text_requested_at.is_not(None))
Index(
    "offers_pictures_waiting",
    offers.c.pictures_requested_at,
    postgresql_where=offers.c.pictures_requested_at.is_not(None),
)

# The newest applied decision of moderation from each partition of its topic. Moderation reports it if a restore has
# lost the decision (ADR 0102).
applied_decisions = Table(
    "applied_decisions",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    # 0: none since the last report of a loss.
    Column("decision_id", BigInteger, nullable=False),
    # Namespace of the decision's text: the check has the same key.
    Column("seller_id", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("checked_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

# The highest run seen in a namespace. All changes of a namespace's offers by its feed are serialized by this row lock.
task_heads = Table(
    "task_heads",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("task_id", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    # W3C headers of the trace that the run belongs to; documents pushed soon after belong to it as well.
    Column("trace_context", JSONB),
    Column("moved_at", DateTime(timezone=True)),
)

applied_batches = Table(
    "applied_batches",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("task_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("batch_id", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False),
    # Part of its result that is needed to send it again; null in rows from before it was kept.
    Column("result", LargeBinary),
    # offer_id of each offer in the batch; null in PATCH loads and once the task has ended.
    Column("seen", ARRAY(BigInteger)),
    # Number of prices that it has changed, without waiting changes; whether an offer in it is available.
    Column("steady_prices", Integer, nullable=False, server_default=text("0")),
    Column("has_available", Boolean, nullable=False, server_default=text("false")),
    Column("applied_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index(
    "applied_batches_seen",
    applied_batches.c.seller_id,
    applied_batches.c.namespace,
    postgresql_where=applied_batches.c.seen.is_not(None),
)
Index("applied_batches_age", applied_batches.c.applied_at)

# One row for each accepted terminal message; `outcome` is null while the sweep runs, and HELD until a decision about
# the load.
task_ends = Table(
    "task_ends",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("task_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("batch_count", BigInteger, nullable=False),
    # Digest of the terminal message; null in rows from before it was kept.
    Column("digest", LargeBinary),
    Column("disposition", Text, nullable=False),
    Column("outcome", Text),
    Column("planned_at", DateTime(timezone=True)),
    Column("removed", BigInteger, nullable=False, server_default=text("0")),
    Column("made_manual", BigInteger, nullable=False, server_default=text("0")),
    # Number of offers that the load lacks and that stay because their removal was rejected.
    Column("kept", BigInteger, nullable=False, server_default=text("0")),
    # Number of waiting changes that were made at this end, and that were not made.
    Column("changed", BigInteger, nullable=False, server_default=text("0")),
    Column("dropped", BigInteger, nullable=False, server_default=text("0")),
    # CONFIRM or REJECT, or ALLOW_… from before the load began; null: nobody has decided.
    Column("decision", Text),
    # The LoadHold of a held run.
    Column("hold", LargeBinary),
    Column("received_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
)
Index("task_ends_age", task_ends.c.received_at)

# Remaining work of a sweep; a slice is deleted in the transaction that applies it.
sweep_slices = Table(
    "sweep_slices",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("task_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("slice", Integer, primary_key=True, autoincrement=False),
    Column("offer_ids", ARRAY(BigInteger), nullable=False),
)

# Changes that may be a mistake of the file: made at the end of their run, or after a decision.
waiting_changes = Table(
    "waiting_changes",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("offer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    # Content hash of the offer when its change was set aside: the change is made only if the hash is the same.
    Column("before_hash", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("last_change", Text, nullable=False),
    Column("moderation", Text, nullable=False),
    # New price divided by the old one; null: the price stays or cannot be compared.
    Column("price_ratio", Double),
    Column("turns_unavailable", Boolean, nullable=False),
    # As in `offers`.
    Column("text_hash", LargeBinary),
    Column("approved_text_hash", LargeBinary),
    Column("ban", LargeBinary),
    Column("published_content", LargeBinary),
    # Whether its links of pictures change.
    Column("changes_pictures", Boolean, nullable=False, server_default=text("false")),
    # Place of the offer in the file of the task.
    Column("ordinal", BigInteger, nullable=False, server_default=text("0")),
    Column("line", BigInteger, nullable=False, server_default=text("0")),
)

# The most offers that a namespace had before a load of the day (UTC), as a baseline for the guard against mass removal.
namespace_sizes = Table(
    "namespace_sizes",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("day", Date, primary_key=True),
    Column("offers", BigInteger, nullable=False),
)
Index("namespace_sizes_day", namespace_sizes.c.day)

# Newest element of each shard's queue that the receiver has acknowledged, written together with the publish mark.
published_positions = Table(
    "published_positions",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    Column("idx", BigInteger, nullable=False),
)

# Offers whose newest version the receiver refused as invalid; a row may lag behind the newest version.
refused_documents = Table(
    "refused_documents",
    metadata,
    Column(
        "offer_id",
        BigInteger,
        ForeignKey("offers.offer_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("version", BigInteger, nullable=False),
    Column("reasons", Text, nullable=False),
    Column("refused_at", DateTime(timezone=True), nullable=False),
)

# Republications of all offers or of a seller's: requested, all marks reset, everything pushed.
republications = Table(
    "republications",
    metadata,
    Column("republication_id", BigInteger, Identity(always=True), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("seller_id", Text),
    Column("namespace", Text),
    Column("request_id", Text, unique=True),
    Column("requested_at", DateTime(timezone=True), nullable=False),
    Column("offers", BigInteger, nullable=False, server_default=text("0")),
    Column("marked_at", DateTime(timezone=True)),
    Column("finished_at", DateTime(timezone=True)),
)
Index(
    "republications_open",
    republications.c.republication_id,
    postgresql_where=republications.c.finished_at.is_(None),
)

shared_tables.add_consumer_offsets(metadata)
shared_tables.add_outbox(metadata)
shared_tables.add_leases(metadata)
add_jobs(metadata)

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
    # Stands for the offer in `seen` and in the sweep: 8 bytes instead of three texts.
    Column("offer_id", BigInteger, Identity(always=True), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    # What the search shows while `content` waits for its verdict; null: the same.
    Column("published_content", LargeBinary),
    Column("origin", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("last_task_id", BigInteger, nullable=False),
    # Where the file of that task has it, from 1; 0 where it has not, and in rows from before it was kept.
    Column("last_ordinal", BigInteger, nullable=False, server_default=text("0")),
    Column("last_line", BigInteger, nullable=False, server_default=text("0")),
    Column("last_change", Text, nullable=False),
    Column("moderation", Text, nullable=False),
    # Which text it has, and which one may be shown; null in rows from before texts were hashed.
    Column("text_hash", LargeBinary),
    Column("approved_text_hash", LargeBinary),
    # The Ban of the text that it has; null: none is known.
    Column("ban", LargeBinary),
    # When a verdict about its text was last requested; null: none is awaited.
    Column("text_requested_at", DateTime(timezone=True)),
    # When moderation decided about the text that it has: of two outcomes the later one holds.
    Column("text_decided_at", DateTime(timezone=True)),
    # PictureRecords: what became of its pictures; null in rows without, and from before pictures were requested.
    Column("pictures", LargeBinary),
    # PictureRecords of those that failed, for the next load; null where none did.
    Column("picture_faults", LargeBinary),
    # When the first result was requested that is still to come; null: none is. `-infinity`: its links have changed, and
    # nothing was requested yet.
    Column("pictures_requested_at", DateTime(timezone=True)),
    Column("version", BigInteger, nullable=False),
    Column("published_version", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("offers_offer_id", offers.c.offer_id, unique=True)
Index("offers_removed", offers.c.updated_at, postgresql_where=offers.c.status == "REMOVED")
# By version: first changed, first published, whoever the seller is.
Index("offers_due", offers.c.version, postgresql_where=offers.c.version > offers.c.published_version)
Index("offers_texts_waiting", offers.c.text_requested_at, postgresql_where=offers.c.text_requested_at.is_not(None))
Index(
    "offers_pictures_waiting",
    offers.c.pictures_requested_at,
    postgresql_where=offers.c.pictures_requested_at.is_not(None),
)

# The newest decision of moderation that was applied from each partition of its topic. Moderation reports if a restore
# has lost it (ADR 0102).
applied_decisions = Table(
    "applied_decisions",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    # 0: none since the last report of a loss.
    Column("decision_id", BigInteger, nullable=False),
    # Whose text it was about: the check has the same key.
    Column("seller_id", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("checked_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

# The highest run seen in a namespace. Its row lock is what everything that changes a namespace's offers stands on.
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
    # What has to be kept of its result to send it again; null in rows from before it was kept.
    Column("result", LargeBinary),
    # offer_id of each offer that the batch has; null in PATCH loads and once the task has ended.
    Column("seen", ARRAY(BigInteger)),
    # Prices that it has changed, beside those that wait; whether an offer of it is available.
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

# One row for each terminal message that was taken; `outcome` is null while its sweep runs, and HELD until it is decided
# whether it goes on.
task_ends = Table(
    "task_ends",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("task_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("batch_count", BigInteger, nullable=False),
    # Of the terminal message; null in rows from before it was kept.
    Column("digest", LargeBinary),
    Column("disposition", Text, nullable=False),
    Column("outcome", Text),
    Column("planned_at", DateTime(timezone=True)),
    Column("removed", BigInteger, nullable=False, server_default=text("0")),
    Column("made_manual", BigInteger, nullable=False, server_default=text("0")),
    # Offers that the load lacks and that stay, as their removal was rejected.
    Column("kept", BigInteger, nullable=False, server_default=text("0")),
    # Changes that waited for this end: made, and not made.
    Column("changed", BigInteger, nullable=False, server_default=text("0")),
    Column("dropped", BigInteger, nullable=False, server_default=text("0")),
    # CONFIRM or REJECT, or ALLOW_… from before the load began; null while nobody has decided about it.
    Column("decision", Text),
    # The LoadHold of a run that was held.
    Column("hold", LargeBinary),
    Column("received_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
)
Index("task_ends_age", task_ends.c.received_at)

# What a sweep has still to do; a slice is deleted in the transaction that applies it.
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

# Changes that may be a mistake of the file: made at the end of their run, or once somebody has decided.
waiting_changes = Table(
    "waiting_changes",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("offer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    # What the offer had when its change was set aside: made is the change only if it still does.
    Column("before_hash", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("last_change", Text, nullable=False),
    Column("moderation", Text, nullable=False),
    # New price by old price; null where the price stays or cannot be compared.
    Column("price_ratio", Double),
    Column("turns_unavailable", Boolean, nullable=False),
    # As in `offers`.
    Column("text_hash", LargeBinary),
    Column("approved_text_hash", LargeBinary),
    Column("ban", LargeBinary),
    Column("published_content", LargeBinary),
    # Whether it has other links of pictures.
    Column("changes_pictures", Boolean, nullable=False, server_default=text("false")),
    # Where the file of the task has it.
    Column("ordinal", BigInteger, nullable=False, server_default=text("0")),
    Column("line", BigInteger, nullable=False, server_default=text("0")),
)

# The most offers that a namespace had before a load of the day (UTC): what the guard against mass removal measures by.
namespace_sizes = Table(
    "namespace_sizes",
    metadata,
    Column("seller_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("day", Date, primary_key=True),
    Column("offers", BigInteger, nullable=False),
)
Index("namespace_sizes_day", namespace_sizes.c.day)

# Newest element of each shard's queue that the receiver has acknowledged, written with the mark that it stands for.
published_positions = Table(
    "published_positions",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    Column("idx", BigInteger, nullable=False),
)

# Offers whose document the receiver refused as invalid in the version that is their newest, or was until lately.
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

# Full publications anew, of all offers or of a seller's: requested, all marks set back, everything pushed.
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

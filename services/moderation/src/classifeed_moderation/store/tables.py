"""Tables of the schema `moderation`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = MetaData()
_NOW = text("clock_timestamp()")

# One row for each text to be judged, of any kind. Claims of waiting texts change only this table, so that they do not
# abort votes.
subjects = Table(
    "subjects",
    metadata,
    Column("subject_key", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    # The text for the verdict service; for an offer: title, line end, description.
    Column("text", Text, nullable=False),
    Column("title_chars", Integer, nullable=False, server_default=text("0")),
    # Identifies the text of the subject: for offers the owner's hash, for other kinds the hash of `text`.
    Column("text_hash", LargeBinary, nullable=False),
    # Shared by equal texts of a kind in the same regions: they are requested once.
    Column("cache_key", LargeBinary, nullable=False),
    # Increases with each change of the text.
    Column("content_version", BigInteger, nullable=False, server_default=text("1")),
    Column("region_ids", ARRAY(Integer), nullable=False),
    # Address of an offer.
    Column("seller_id", Text),
    Column("namespace", Text),
    Column("external_id", Text),
    Column("status", Text, nullable=False),
    Column("started", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # Time of the next request; null once the text is decided.
    Column("next_retry", DateTime(timezone=True)),
    # Kept verdicts are ignored: this text is requested again from the verdict service.
    Column("is_recheck", Boolean, nullable=False, server_default=text("false")),
    Column("verdicts", JSONB, nullable=False, server_default=text("'[]'")),
    # Whether people of the verdict service review the text: the review is closed when the text is decided.
    Column("is_with_people", Boolean, nullable=False, server_default=text("false")),
    # Newest applied decision, and its maker.
    Column("decision_id", BigInteger),
    Column("decided_by", Text),
)
Index("subjects_due", subjects.c.kind, subjects.c.next_retry, postgresql_where=subjects.c.status == "PENDING")
# Waiting texts of offers by seller, so that each seller gets a share.
Index(
    "subjects_shares",
    subjects.c.seller_id,
    subjects.c.next_retry,
    postgresql_where=text("status = 'PENDING' AND kind = 'OFFER'"),
)
Index("subjects_same", subjects.c.cache_key, postgresql_where=subjects.c.status == "PENDING")

# Append-only: every decision, including verdicts that were not applied. It is the source of the event log.
decisions = Table(
    "decisions",
    metadata,
    # Milliseconds of the clock and ten bits: a restore repeats no number (ADR 0090).
    Column(
        "decision_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        server_default=text(
            "((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 10) + nextval('decision_numbers')"
        ),
    ),
    Column("subject_key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("content_version", BigInteger, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("region_ids", ARRAY(Integer), nullable=False),
    Column("status", Text, nullable=False),
    Column("verdicts", JSONB, nullable=False),
    Column("rule", Text, nullable=False),
    Column("rule_set", Text, nullable=False),
    # Region for which the rule applies; 0: everywhere.
    Column("region_id", Integer, nullable=False),
    Column("maker", Text, nullable=False),
    Column("reviewer", Text, nullable=False, server_default=text("''")),
    # Whether no person has judged the text: neither a reviewer, nor people of the verdict service.
    Column("is_automatic", Boolean, nullable=False),
    Column("is_applied", Boolean, nullable=False),
    Column("not_applied_reason", Text, nullable=False, server_default=text("''")),
    Column("supersedes_id", BigInteger),
    # Tags of a point.
    Column("tags_before", ARRAY(Text)),
    Column("tags_after", ARRAY(Text)),
    # X-Request-Id of the callback; empty for responses.
    Column("request_id", Text, nullable=False, server_default=text("''")),
    # Seconds from storing the text to its first decision; null for later decisions.
    Column("waited_s", Double),
    Column("decided_at", DateTime(timezone=True), nullable=False),
    Column("recorded_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("decisions_subject", decisions.c.subject_key, decisions.c.decision_id)
Index("decisions_age", decisions.c.recorded_at)

# Sent keys whose texts no longer need a review at the verdict service; kept for two days.
closings = Table(
    "closings",
    metadata,
    Column("sent_key", Text, primary_key=True),
    # Cache key of the sent text: while an equal text waits, the reviews stay open.
    Column("cache_key", LargeBinary, nullable=False),
    Column("noted_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # Time of the next call.
    Column("due_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("closings_due", closings.c.due_at)
Index("closings_age", closings.c.noted_at)

# Complete verdicts, for equal texts that arrive later.
verdict_cache = Table(
    "verdict_cache",
    metadata,
    Column("cache_key", LargeBinary, primary_key=True),
    Column("verdicts", JSONB, nullable=False),
    # Whether a person has judged the text, which an empty list of verdicts does not show.
    Column("is_from_people", Boolean, nullable=False, server_default=text("false")),
    Column("stored_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("verdict_cache_age", verdict_cache.c.stored_at)

# A change of a point is written only if its version is still the one that was read.
points = Table(
    "points",
    metadata,
    Column("point_id", Uuid, primary_key=True),
    Column("author_id", Text, nullable=False),
    Column("author_role", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    Column("latitude", Double, nullable=False),
    Column("longitude", Double, nullable=False),
    Column("votes_for", Integer, nullable=False, server_default=text("0")),
    Column("votes_against", Integer, nullable=False, server_default=text("0")),
    # Number of comments ever made: the index of the next one.
    Column("comments", Integer, nullable=False, server_default=text("0")),
    Column("version", BigInteger, nullable=False),
    Column("published_version", BigInteger, nullable=False, server_default=text("0")),
    Column("request_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("removed_at", DateTime(timezone=True)),
)
Index("points_due", points.c.version, postgresql_where=points.c.version > points.c.published_version)
Index("points_place", points.c.latitude, points.c.longitude, postgresql_where=points.c.removed_at.is_(None))
Index("points_removed", points.c.removed_at, postgresql_where=points.c.removed_at.is_not(None))

# Newest element of each shard's queue that the receiver has acknowledged.
published_positions = Table(
    "published_positions",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    Column("idx", BigInteger, nullable=False),
)

comments = Table(
    "comments",
    metadata,
    Column("point_id", Uuid, ForeignKey("points.point_id", ondelete="CASCADE"), primary_key=True),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("author_id", Text, nullable=False),
    Column("author_role", Text, nullable=False),
    Column("request_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

votes = Table(
    "votes",
    metadata,
    Column("point_id", Uuid, ForeignKey("points.point_id", ondelete="CASCADE"), primary_key=True),
    Column("author_id", Text, primary_key=True),
    Column("is_for", Boolean, nullable=False),
    Column("voted_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

appeals = Table(
    "appeals",
    metadata,
    Column("appeal_id", BigInteger, Identity(always=True), primary_key=True),
    Column("subject_key", Text, nullable=False),
    Column("decision_id", BigInteger, nullable=False),
    Column("author_id", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("appealed_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
    Column("reviewer", Text),
    # The reviewer's sentences for the author.
    Column("response", Text, nullable=False, server_default=text("''")),
    UniqueConstraint("decision_id", name="appeals_decision_id_key"),
)
Index("appeals_open", appeals.c.appeal_id, postgresql_where=appeals.c.ended_at.is_(None))
Index("appeals_of_author", appeals.c.author_id, postgresql_where=appeals.c.ended_at.is_(None))

# Rejudgements of stored verdicts by the current rules.
rejudgements = Table(
    "rejudgements",
    metadata,
    Column("request_id", Text, primary_key=True),
    Column("kind", Text),
    Column("is_dry_run", Boolean, nullable=False),
    Column("judged", BigInteger, nullable=False, server_default=text("0")),
    # Kind, region, rule, new status and number of the changed texts.
    Column("changes", JSONB, nullable=False, server_default=text("'[]'")),
    Column("requested_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
)

shared_tables.add_consumer_offsets(metadata)
shared_tables.add_outbox(metadata)
shared_tables.add_leases(metadata)
add_jobs(metadata)

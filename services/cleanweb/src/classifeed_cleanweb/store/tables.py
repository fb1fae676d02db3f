"""Tables of the schema `cleanweb`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = MetaData()
_NOW = text("clock_timestamp()")

# A text under review by people: it ends when all of its reviews have ended.
requests = Table(
    "requests",
    metadata,
    Column("request_id", BigInteger, Identity(always=True), primary_key=True),
    Column("service", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    # Shared by equal texts of the same projects.
    Column("cache_key", LargeBinary, nullable=False),
    Column("opened_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
)
Index(
    "requests_open",
    requests.c.service,
    requests.c.environment,
    requests.c.key,
    requests.c.text_hash,
    unique=True,
    postgresql_where=requests.c.ended_at.is_(None),
)
# Open requests for equal texts: their reviews are shared.
Index("requests_same", requests.c.cache_key, postgresql_where=requests.c.ended_at.is_(None))
Index("requests_ended", requests.c.ended_at, postgresql_where=requests.c.ended_at.is_not(None))

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", BigInteger, Identity(always=True), primary_key=True),
    Column("request_id", BigInteger, ForeignKey("requests.request_id", ondelete="CASCADE"), nullable=False),
    Column("project", Text, nullable=False),
    # Verdicts of an ended review.
    Column("verdicts", ARRAY(Text)),
    Column("leased_by", Text),
    Column("leased_until", DateTime(timezone=True)),
    Column("opened_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("ended_at", DateTime(timezone=True)),
    UniqueConstraint("request_id", "project", name="reviews_request_id_project_key"),
)
Index("reviews_waiting", reviews.c.project, reviews.c.review_id, postgresql_where=reviews.c.ended_at.is_(None))

# The leases of a reviewer: one per project. Ended leases keep their last holder.
Index(
    "reviews_leased",
    reviews.c.leased_by,
    reviews.c.project,
    postgresql_where=text("ended_at IS NULL AND leased_by IS NOT NULL"),
)

opinions = Table(
    "opinions",
    metadata,
    Column("review_id", BigInteger, ForeignKey("reviews.review_id", ondelete="CASCADE"), primary_key=True),
    Column("reviewer", Text, primary_key=True),
    Column("verdicts", ARRAY(Text), nullable=False),
    Column("given_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

Index("opinions_given", opinions.c.given_at)

# Verdicts of people about texts, for equal texts.
kept_verdicts = Table(
    "kept_verdicts",
    metadata,
    Column("cache_key", LargeBinary, primary_key=True),
    Column("verdicts", ARRAY(Text), nullable=False),
    # Reviewers who have given an opinion.
    Column("reviewers", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("stored_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("kept_verdicts_age", kept_verdicts.c.stored_at)

# Verdicts on their way; a delivered row is deleted.
callbacks = Table(
    "callbacks",
    metadata,
    Column("callback_id", BigInteger, Identity(always=True), primary_key=True),
    Column("service", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("verdicts", ARRAY(Text), nullable=False),
    Column("reviewers", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # Start of the retries; reset when an operator sends the callback again.
    Column("sent_from", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("given_up_at", DateTime(timezone=True)),
    Column("fault", Text, nullable=False, server_default=text("''")),
)
Index("callbacks_key", callbacks.c.key, callbacks.c.callback_id)
Index("callbacks_given_up", callbacks.c.callback_id, postgresql_where=callbacks.c.given_up_at.is_not(None))

shared_tables.add_leases(metadata)
add_jobs(metadata)

"""Tables of the schema `processor`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from classifeed.feeds.v1.task_pb2 import TASK_KIND_DELETE
from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs

metadata = MetaData()
_NOW = text("clock_timestamp()")


def _namespace_key() -> list[Column[str]]:
    return [Column("seller_id", Text, primary_key=True), Column("namespace", Text, primary_key=True)]


def _task_key() -> list[Column[str] | Column[int]]:
    return [*_namespace_key(), Column("task_id", BigInteger, primary_key=True)]


# Gives a namespace's tasks their numbers, and their makers an order to stand in.
task_counters = Table("task_counters", metadata, *_namespace_key(), Column("last_task_id", BigInteger, nullable=False))

tasks = Table(
    "tasks",
    metadata,
    *_task_key(),
    Column("kind", SmallInteger, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("phase", SmallInteger, nullable=False),
    Column("run", Integer, nullable=False, server_default=text("0")),
    # How often batches, or replies to them, were lost.
    Column("incomplete_runs", Integer, nullable=False, server_default=text("0")),
    Column("mode", SmallInteger, nullable=False),
    Column("disposition", SmallInteger, nullable=False),
    # A LOAD has an upload, a fetch, or an earlier task whose file it loads again; a DELETE has none of these, and no
    # file.
    Column("upload_id", Text),
    Column("feed_loader_task_id", BigInteger),
    Column("feed_loader_result_id", BigInteger),
    # Of the feed that a fetch or a DELETE was made by; 0 for an upload.
    Column("feed_version", BigInteger, nullable=False, server_default=text("0")),
    # The one format that the file may have; empty: any.
    Column("format_wanted", Text, nullable=False, server_default=""),
    # ISO code of amounts for which the file names none; empty: as the format says.
    Column("default_currency", Text, nullable=False, server_default=""),
    # How files were read when the task was made; 0: before this was noted.
    Column("parser_version", Integer, nullable=False, server_default=text("0")),
    Column("source_sha256", Text, nullable=False),
    Column("source_bytes", BigInteger, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("format", Text, nullable=False, server_default=""),
    Column("expected_total", BigInteger, nullable=False, server_default=text("0")),
    Column("warnings", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    Column("error_code", Text, nullable=False, server_default=""),
    Column("error_message", Text, nullable=False, server_default=""),
    Column("error_line", BigInteger, nullable=False, server_default=text("0")),
    Column("error_column", BigInteger, nullable=False, server_default=text("0")),
    # What the terminal message of the run says; known in phase SENT.
    Column("batch_count", BigInteger),
    Column("digest", LargeBinary),
    # A HoldDecision: what was decided about it, by `decided_at`, or allowed before it began.
    Column("decision", SmallInteger, nullable=False, server_default=text("0")),
    Column("decided_at", DateTime(timezone=True)),
    # The LoadHold of a task that was held, and since when.
    Column("hold", LargeBinary),
    Column("held_at", DateTime(timezone=True)),
    # When all batches of the run had been acknowledged; known in phase SENT.
    Column("sent_at", DateTime(timezone=True)),
    # The job that runs it, to be made due when a reply has moved the task.
    Column("job_id", Uuid),
    # A value of domain.tasks.Window.
    Column("window_state", SmallInteger, nullable=False, server_default=text("0")),
    # How often what is awaited was requested from the owner, and when last; 0 and none once it has replied.
    Column("asks", Integer, nullable=False, server_default=text("0")),
    Column("asked_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # When its first run began, past the wait in the queue.
    Column("begun_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    # The task of the namespace whose file it loads again, and what made the call for that idempotent.
    Column("rerun_of", BigInteger),
    Column("request_id", Text),
)
Index("tasks_upload_id", tasks.c.upload_id, unique=True)
Index(
    "tasks_fetch",
    tasks.c.feed_loader_task_id,
    tasks.c.feed_loader_result_id,
    unique=True,
    postgresql_where=tasks.c.feed_loader_result_id.is_not(None),
)
Index(
    "tasks_fetch_order",
    tasks.c.seller_id,
    tasks.c.namespace,
    tasks.c.feed_version,
    tasks.c.feed_loader_result_id,
    postgresql_where=tasks.c.feed_loader_result_id.is_not(None),
)
Index(
    "tasks_removal",
    tasks.c.seller_id,
    tasks.c.namespace,
    tasks.c.feed_version,
    unique=True,
    postgresql_where=tasks.c.kind == TASK_KIND_DELETE,
)
Index(
    "tasks_request_id",
    tasks.c.seller_id,
    tasks.c.request_id,
    unique=True,
    postgresql_where=tasks.c.request_id.is_not(None),
)
Index("tasks_updated", tasks.c.seller_id, tasks.c.namespace, tasks.c.updated_at)
Index("tasks_open", tasks.c.seller_id, tasks.c.namespace, tasks.c.task_id, postgresql_where=tasks.c.ended_at.is_(None))

offer_batches = Table(
    "offer_batches",
    metadata,
    *_task_key(),
    Column("run", Integer, primary_key=True),
    Column("batch_id", BigInteger, primary_key=True),
    Column("records", Integer, nullable=False),
    Column("sent_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("answered_at", DateTime(timezone=True)),
)
# The window of a run is the number of these rows.
Index(
    "offer_batches_unanswered",
    offer_batches.c.seller_id,
    offer_batches.c.namespace,
    offer_batches.c.task_id,
    offer_batches.c.run,
    postgresql_where=offer_batches.c.answered_at.is_(None),
)

feed_statistics = Table(
    "feed_statistics",
    metadata,
    *_task_key(),
    # The run that the figures are of; a new run begins at nothing.
    Column("run", Integer, nullable=False),
    Column("statistics", LargeBinary, nullable=False),
    Column("first_answer_at", DateTime(timezone=True)),
    Column("last_answer_at", DateTime(timezone=True)),
)

offer_errors = Table(
    "offer_errors",
    metadata,
    *_task_key(),
    Column("external_id", Text, primary_key=True),
    Column("error_id", Text, primary_key=True),
    Column("run", Integer, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("level", SmallInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("code", Text, nullable=False),
    Column("field", Text, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("column", BigInteger, nullable=False),
    Column("path", Text, nullable=False),
    Column("excerpt", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("expected", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("suggestion", Text, nullable=False),
    # How often it occurs in this field of the offer.
    Column("count", Integer, nullable=False, server_default=text("1")),
    # An OfferError with nothing but `parameters`, from which the sentences are written; empty where these are stored.
    Column("parameters", LargeBinary, nullable=False, server_default=""),
)
Index(
    "offer_errors_by_ordinal",
    offer_errors.c.seller_id,
    offer_errors.c.namespace,
    offer_errors.c.task_id,
    offer_errors.c.level,
    offer_errors.c.ordinal,
    offer_errors.c.line,
    offer_errors.c.error_id,
)

# Issues past those that have a row, until the load has ended and they are in its file.
issue_chunks = Table(
    "issue_chunks",
    metadata,
    *_task_key(),
    Column("chunk_id", BigInteger, Identity(always=True), primary_key=True),
    Column("run", Integer, nullable=False),
    # An IssueBlock.
    Column("summary", LargeBinary, nullable=False),
    # Its compressed IssueBlockContent.
    Column("issues", LargeBinary, nullable=False),
)

# Files of a load in the object store, by kind (store.issues.FileKind).
load_files = Table(
    "load_files",
    metadata,
    *_task_key(),
    Column("kind", SmallInteger, primary_key=True),
    # Hash of the object.
    Column("object", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    # An IssueIndex.
    Column("index", LargeBinary, nullable=False),
)

# What was found out about offers after the results of their batches, so that each counts once.
late_errors = Table(
    "late_errors",
    metadata,
    *_task_key(),
    Column("external_id", Text, primary_key=True),
    Column("error_id", Text, primary_key=True),
    Column("noted_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
)

shared_tables.add_consumer_offsets(metadata)
shared_tables.add_blob_refs(metadata)
add_jobs(metadata)

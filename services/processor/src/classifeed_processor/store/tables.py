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


# Assigns the ids of a namespace's tasks, and serializes their creation.
task_counters = Table("task_counters", metadata, *_namespace_key(), Column("last_task_id", BigInteger, nullable=False))

tasks = Table(
    "tasks",
    metadata,
    *_task_key(),
    Column("kind", SmallInteger, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("phase", SmallInteger, nullable=False),
    Column("run", Integer, nullable=False, server_default=text("0")),
    # Number of runs in which batches, or replies to them, were lost.
    Column("incomplete_runs", Integer, nullable=False, server_default=text("0")),
    Column("mode", SmallInteger, nullable=False),
    Column("disposition", SmallInteger, nullable=False),
    # A LOAD has an upload, a fetch, or an earlier task whose file it loads again. A DELETE has none of these, and no
    # file.
    Column("upload_id", Text),
    Column("feed_loader_task_id", BigInteger),
    Column("feed_loader_result_id", BigInteger),
    # Version of the feed of a fetch or a DELETE; 0 for an upload.
    Column("feed_version", BigInteger, nullable=False, server_default=text("0")),
    # The only format that the file may have; empty: any.
    Column("format_wanted", Text, nullable=False, server_default=""),
    # ISO code for amounts without a currency; empty: the format's default.
    Column("default_currency", Text, nullable=False, server_default=""),
    # Version of the parser when the task was created; 0: the task is older than this column.
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
    # Fields of the run's TaskEnd; known in phase SENT.
    Column("batch_count", BigInteger),
    Column("digest", LargeBinary),
    # A HoldDecision: the decision about a held task, made at `decided_at`, or what was allowed before it began.
    Column("decision", SmallInteger, nullable=False, server_default=text("0")),
    Column("decided_at", DateTime(timezone=True)),
    # The LoadHold of a held task, and the time at which it was held.
    Column("hold", LargeBinary),
    Column("held_at", DateTime(timezone=True)),
    # Time at which all batches of the run were acknowledged; known in phase SENT.
    Column("sent_at", DateTime(timezone=True)),
    # The job that runs the task; it is made due when a reply has moved the task.
    Column("job_id", Uuid),
    # A value of domain.tasks.Window.
    Column("window_state", SmallInteger, nullable=False, server_default=text("0")),
    # Number and last time of requests for the awaited reply; 0 and NULL after the reply.
    Column("asks", Integer, nullable=False, server_default=text("0")),
    Column("asked_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # Time at which the first run began, after the wait in the queue.
    Column("begun_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    # The task whose file is loaded again, and the id that makes the request for it idempotent.
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
# The number of these rows is compared with the window of the run.
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
    # The run of the statistics; a new run resets them.
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
    # Number of occurrences in this field of the offer.
    Column("count", Integer, nullable=False, server_default=text("1")),
    # An OfferError with only `parameters`, from which the texts are composed; empty if the texts are stored.
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

# Issues without rows, until they are packed into the file of the ended load.
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

# Errors of offers that were found after the replies to their batches, so that each counts once.
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

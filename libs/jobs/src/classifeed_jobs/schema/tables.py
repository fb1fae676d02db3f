"""The job tables for SQLAlchemy, for the drift test of a service. `classifeed_jobs.ddl` creates them.

They have the logical schema `queue`; statements map it to the real schema by `schema_translate_map`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB, TIMESTAMP, UUID

from classifeed_jobs.schema.ddl import QUEUE_SCHEMA

_Kind: TypeAlias = Any
_TIME = TIMESTAMP(timezone=True)
_CLAIMABLE = "status = 'queued' AND waits_for IS NULL"


def _column(name: str, kind: _Kind, *, null: bool = False) -> Column[Any]:
    return Column(name, kind, nullable=null)


def _key(name: str, kind: _Kind) -> Column[Any]:
    return Column(name, kind, primary_key=True, autoincrement=False)


def _request_columns() -> list[Column[Any]]:
    """Return the columns that live and complete jobs share."""
    return [
        _column("queue", Text),
        _column("task", Text),
        _column("args", JSONB),
        _column("idempotency_key", Text, null=True),
        _column("lock_key", Text, null=True),
        _column("partition_key", Text, null=True),
        _column("priority", Integer),
        _column("available_at", _TIME),
        _column("status", Text),
        _column("attempt", Integer),
        _column("claim_no", Integer),
        _column("max_attempts", Integer, null=True),
        _column("lease_ttl_sec", Integer),
        _column("worker_deaths", Integer),
        _column("max_worker_deaths", Integer, null=True),
        _column("unknown_faults", Integer),
        _column("cancel_requested", Boolean),
        _column("progress", JSONB, null=True),
        _column("checkpoint", JSONB, null=True),
        _column("error", Text, null=True),
        _column("producer", Text, null=True),
        _column("consumer_group", Text, null=True),
        _column("trace_context", JSONB, null=True),
        _column("created_at", _TIME),
        _column("started_at", _TIME, null=True),
    ]


def _done_columns() -> list[Column[Any]]:
    return [
        _key("job_id", UUID),
        *_request_columns(),
        _column("result", JSONB, null=True),
        _column("reason", Text, null=True),
        _column("heartbeat_at", _TIME, null=True),
        _key("finished_at", _TIME),
    ]


def _event_columns() -> list[Column[Any]]:
    return [
        _key("job_id", UUID),
        _key("event_id", BigInteger),
        _key("at", _TIME),
        _column("kind", Text),
        _column("attempt", Integer),
        _column("claim_no", Integer),
        _column("worker_id", Text, null=True),
        _column("payload", JSONB, null=True),
    ]


def add_jobs(metadata: MetaData) -> None:
    """Add the tables of `classifeed_jobs.ddl` (all versions) to a service's metadata."""
    Table(
        "dl_workers",
        metadata,
        _key("worker_id", Text),
        _column("queues", ARRAY(Text)),
        _column("started_at", _TIME),
        _column("renewed_at", _TIME),
        _column("hook_tasks", ARRAY(Text)),
        schema=QUEUE_SCHEMA,
    )
    Table(
        "dl_jobs",
        metadata,
        _key("job_id", UUID),
        *_request_columns(),
        _column("waits_for", Text, null=True),
        _column("made_by", Text, null=True),
        _column("claimed_by", Text, null=True),
        Index(
            "dl_jobs_claim",
            "queue",
            "priority",
            "created_at",
            postgresql_where=text(f"{_CLAIMABLE} AND partition_key IS NULL"),
        ),
        Index("dl_jobs_made_by", "made_by", postgresql_where=text("made_by IS NOT NULL")),
        Index(
            "dl_jobs_lanes",
            "queue",
            "priority",
            "partition_key",
            "created_at",
            postgresql_where=text(f"{_CLAIMABLE} AND partition_key IS NOT NULL"),
        ),
        Index("dl_jobs_due", "queue", "available_at", postgresql_where=text("waits_for = 'time'")),
        Index("dl_jobs_parked", "lock_key", "priority", "created_at", postgresql_where=text("waits_for = 'key'")),
        Index("dl_jobs_running", "claimed_by", "lease_ttl_sec", postgresql_where=text("status = 'running'")),
        schema=QUEUE_SCHEMA,
    )
    Table(
        "dl_job_locks",
        metadata,
        _key("lock_key", Text),
        _column("job_id", UUID),
        _column("worker_id", Text),
        _column("acquired_at", _TIME),
        schema=QUEUE_SCHEMA,
    )
    Table(
        "dl_job_keys",
        metadata,
        _key("idempotency_key", Text),
        _column("job_id", UUID),
        _column("request_hash", LargeBinary),
        _column("expires_at", _TIME),
        Index("dl_job_keys_expiry", "expires_at"),
        schema=QUEUE_SCHEMA,
    )
    _add_settings(metadata)
    # The drift test sees the first partition of a partitioned table as a separate table.
    _add_done(metadata, "dl_jobs_done", "dl_jobs_done_finished", "dl_jobs_done_dead", "dl_jobs_done_lock_key")
    _add_done(
        metadata,
        "dl_jobs_done_default",
        "dl_jobs_done_default_finished_at_job_id_idx",
        "dl_jobs_done_default_status_job_id_idx",
        "dl_jobs_done_default_lock_key_job_id_idx",
    )
    for name, index in (
        ("dl_job_events", "dl_job_events_at"),
        ("dl_job_events_default", "dl_job_events_default_at_idx"),
    ):
        columns = _event_columns()
        Table(name, metadata, *columns, Index(index, "at", postgresql_using="brin"), schema=QUEUE_SCHEMA)


def _add_done(metadata: MetaData, name: str, finished: str, dead: str, lock_key: str) -> None:
    Table(
        name,
        metadata,
        *_done_columns(),
        Index(finished, "finished_at", "job_id"),
        Index(dead, "status", "job_id", postgresql_where=text("status <> 'succeeded'")),
        Index(lock_key, "lock_key", "job_id", postgresql_where=text("lock_key IS NOT NULL")),
        schema=QUEUE_SCHEMA,
    )


def _add_settings(metadata: MetaData) -> None:
    Table(
        "dl_queues",
        metadata,
        _key("queue", Text),
        _column("paused_at", _TIME, null=True),
        _column("paused_by", Text, null=True),
        _column("max_running", Integer, null=True),
        _column("max_running_per_partition", Integer, null=True),
        _column("rate_per_s", DOUBLE_PRECISION, null=True),
        _column("rate_burst", Integer, null=True),
        _column("tokens", DOUBLE_PRECISION),
        _column("refilled_at", _TIME),
        schema=QUEUE_SCHEMA,
    )
    Table(
        "dl_schedules",
        metadata,
        _key("name", Text),
        _column("queue", Text),
        _column("task", Text),
        _column("args", JSONB),
        _column("lock_key", Text, null=True),
        _column("partition_key", Text, null=True),
        _column("priority", Integer),
        _column("max_attempts", Integer, null=True),
        _column("lease_ttl_sec", Integer, null=True),
        _column("cron", Text, null=True),
        _column("every_sec", Integer, null=True),
        _column("time_zone", Text),
        _column("missed", Text),
        _column("grace_sec", Integer),
        _column("overlap", Text),
        _column("paused_at", _TIME, null=True),
        _column("paused_by", Text, null=True),
        _column("next_slot", _TIME),
        _column("last_slot", _TIME, null=True),
        _column("last_job_id", UUID, null=True),
        _column("created_at", _TIME),
        _column("updated_at", _TIME),
        Index("dl_schedules_due", "next_slot", postgresql_where=text("paused_at IS NULL")),
        schema=QUEUE_SCHEMA,
    )

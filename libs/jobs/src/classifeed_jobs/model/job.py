"""What callers see of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

TERMINAL = frozenset({"succeeded", "failed", "canceled"})
"""The statuses that nothing leaves but an operator's retry."""


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """The result of an enqueue.

    Attributes:
        job_id: the job, new or the one that has the idempotency key already.
        created: false when the idempotency key was taken.
        differs: what was requested otherwise than by the request that took the key: of queue, task, args, lock_key.
        status: of that job now; None: it has ended and was dropped from the archive.
    """

    job_id: UUID
    created: bool
    differs: tuple[str, ...] = ()
    status: str | None = "queued"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One job to enqueue; the fields are those of `JobStore.enqueue`."""

    queue: str
    task: str
    args: Mapping[str, Any] = field(default_factory=dict)
    lock_key: str | None = None
    idempotency_key: str | None = None
    partition_key: str | None = None
    priority: int = 100
    available_at: datetime | None = None
    max_attempts: int | None = 5
    lease_ttl_s: int | None = None
    producer: str | None = None
    consumer_group: str | None = None
    trace_context: Mapping[str, str] | None = None
    max_worker_deaths: int | None = 3


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs: those that agree in everything that is set."""

    queue: str | None = None
    task: str | None = None
    lock_key: str | None = None
    partition_key: str | None = None
    producer: str | None = None
    consumer_group: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands, live or done; times by the database's clock. Field names are the columns' (dl_jobs_all).

    Attributes:
        worker_deaths: how often its worker was lost while it ran it, since it last came further.
        unknown_faults: how often it failed by an exception that nobody foresaw, since it last came further.
        reason: why the engine ended it: QUARANTINED (its worker died at it too often), UNKNOWN_FAULTS, UNREADABLE (its
            row cannot be read or handled); None otherwise.
    """

    job_id: UUID
    queue: str
    task: str
    args: dict[str, Any]
    idempotency_key: str | None
    lock_key: str | None
    partition_key: str | None
    priority: int
    available_at: datetime
    status: str
    attempt: int
    claim_no: int
    claimed_by: str | None
    max_attempts: int | None
    lease_ttl_sec: int
    lease_expires_at: datetime | None
    heartbeat_at: datetime | None
    cancel_requested: bool
    progress: dict[str, Any] | None
    checkpoint: Any
    error: str | None
    result: Any
    producer: str | None
    consumer_group: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker_deaths: int
    unknown_faults: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One line of a job's journal; event_id grows with it."""

    kind: str
    at: datetime
    attempt: int
    claim_no: int
    worker_id: str | None
    payload: dict[str, Any] | None
    event_id: int


@dataclass(frozen=True, slots=True)
class HeldLock:
    """Which job holds a lock key, in which worker process, since when.

    `waiting` counts the due jobs that a worker has met and passed over because of it.
    """

    lock_key: str
    job_id: UUID
    worker_id: str
    acquired_at: datetime
    waiting: int


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A process that works, or has worked until `renewed_at` and was not heard of since."""

    worker_id: str
    queues: list[str]
    started_at: datetime
    renewed_at: datetime
    running: int


class Rank(NamedTuple):
    """Where a job stands in the order of claims of its queue."""

    queue: str
    priority: int
    created_at: datetime

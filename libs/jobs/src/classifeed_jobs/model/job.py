"""Types of jobs, events, locks and workers that callers see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

TERMINAL = frozenset({"succeeded", "failed", "canceled"})
"""Final statuses; only an operator's retry requeues such a job."""


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """The result of an enqueue.

    Attributes:
        job_id: Id of the new job, or of the existing job with the idempotency key.
        created: False if the idempotency key was used before.
        differs: Fields that differ from the first request with the key: of queue, task, args, lock_key.
        status: Current status of the job; None if it is complete and was removed from the archive.
    """

    job_id: UUID
    created: bool
    differs: tuple[str, ...] = ()
    status: str | None = "queued"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to enqueue; the fields are the arguments of `JobStore.enqueue`."""

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
    """Filter of jobs: a job must match all fields that are set."""

    queue: str | None = None
    task: str | None = None
    lock_key: str | None = None
    partition_key: str | None = None
    producer: str | None = None
    consumer_group: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """The state of a job, live or complete. Fields are named as the columns of dl_jobs_all; times are the database's.

    Attributes:
        worker_deaths: Number of deaths of its worker during a run, since its last progress.
        unknown_faults: Number of runs that failed with an unexpected exception, since its last progress.
        reason: Reason why the engine failed it: QUARANTINED (too many deaths of its worker), UNKNOWN_FAULTS, or
            UNREADABLE (its row cannot be read or handled); None otherwise.
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
    """An event of a job's journal; event_id increases."""

    kind: str
    at: datetime
    attempt: int
    claim_no: int
    worker_id: str | None
    payload: dict[str, Any] | None
    event_id: int


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A held lock key, with its job, worker process and time.

    `waiting` is the number of due jobs that a worker has marked as blocked by the key.
    """

    lock_key: str
    job_id: UUID
    worker_id: str
    acquired_at: datetime
    waiting: int


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A process that runs jobs, or ran jobs until its last heartbeat at `renewed_at`."""

    worker_id: str
    queues: list[str]
    started_at: datetime
    renewed_at: datetime
    running: int


class Rank(NamedTuple):
    """Position of a job in the claim order of its queue."""

    queue: str
    priority: int
    created_at: datetime

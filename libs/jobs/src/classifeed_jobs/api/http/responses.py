"""The responses of the HTTP API. Times are in UTC and end in Z."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from classifeed_jobs.schedule.schedules import Missed, Overlap

Status = Literal["queued", "running", "succeeded", "failed", "canceled"]


def _zulu(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Time = Annotated[
    datetime, PlainSerializer(_zulu, return_type=str), WithJsonSchema({"type": "string", "format": "date-time"})
]


class ResponseModel(BaseModel):
    """Base of all responses, which are built from objects with the same attribute names."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class TriggerResponse(ResponseModel):
    """The job of a request."""

    job_id: UUID
    status: Status | None = Field(description="Null: the key's job is complete and was removed from the archive.")
    differs: list[Literal["queue", "task", "args", "lock_key"]] = Field(
        default=[], description="Present if the idempotency key was used before: fields that differ from that request."
    )


class TriggerBatchResponse(ResponseModel):
    """Responses for the requested jobs, in order."""

    jobs: list[TriggerResponse]


class JobStatus(ResponseModel):
    """The status of a job."""

    job_id: UUID
    task: str
    status: Status
    attempt: int = Field(description="Attempts so far, the current one included.")
    started_at: Time | None = Field(description="Time of its first claim by a worker; kept over retries.")
    finished_at: Time | None = Field(description="Time of its completion.")
    heartbeat_at: Time | None = Field(description="Last heartbeat of its worker; never before started_at.")
    error: str | None = Field(description="Error of the last failed attempt; success clears it.")
    progress: dict[str, Any] | None = Field(description="Last progress of its pipeline: processed, total, and more.")


class CanceledJob(ResponseModel):
    """The state of a job after a request to stop it."""

    job_id: UUID
    status: Status
    attempt: int
    started_at: Time | None
    heartbeat_at: Time | None


class RetriedJobs(ResponseModel):
    """The result of a bulk retry."""

    retried: int = Field(description="Number of requeued jobs.")


class JobView(ResponseModel):
    """A job with all its fields."""

    job_id: UUID
    queue: str
    task: str
    args: dict[str, Any]
    idempotency_key: str | None
    lock_key: str | None
    partition_key: str | None
    priority: int
    available_at: Time
    status: Status
    attempt: int
    max_attempts: int | None
    lease_ttl_sec: int
    lease_expires_at: Time | None
    heartbeat_at: Time | None
    cancel_requested: bool
    progress: dict[str, Any] | None
    error: str | None
    result: Any
    producer: str | None
    consumer_group: str | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


class JobList(ResponseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobView]
    next_page_token: str | None = Field(description="The page_token of the next page; null on the last page.")


class EventView(ResponseModel):
    """An event of a job."""

    event_id: int = Field(description="Number of the event; it increases within the job.")
    kind: str = Field(description="queued, picked, retry, requeued, cancel_requested, succeeded, failed, canceled, …")
    at: Time
    attempt: int
    worker_id: str | None
    payload: dict[str, Any] | None


class EventList(ResponseModel):
    """A page of a job's journal, oldest first."""

    events: list[EventView]
    next_page_token: str | None


class QueueView(ResponseModel):
    """The state of a queue."""

    queue: str
    paused: bool
    paused_at: Time | None
    paused_by: str | None
    depth: int = Field(description="Jobs that wait for any reason.")
    ready: int = Field(description="Jobs that could run now.")
    delayed: int = Field(description="Jobs that are not due yet.")
    parked: int = Field(description="Jobs that wait for their lock key.")
    running: int
    oldest_age_s: float | None = Field(description="Seconds that the oldest due job has waited.")
    succeeded_per_s: float = Field(description="Completions of this kind per second, over the last minute.")
    failed_per_s: float
    canceled_per_s: float
    failed_last_hour: int
    workers: int = Field(description="Processes that run jobs of the queue.")
    concurrency_limit: int | None = Field(description="Jobs that run at a time over all workers; null: no limit.")
    partition_limit: int | None = Field(description="Jobs of one partition_key that run at a time; null: no limit.")
    rate_limit: float | None = Field(description="Maximum jobs started per second; null: no limit.")
    rate_burst: int | None = Field(description="Jobs that may start at once after an idle time.")


class QueueList(ResponseModel):
    """The queues by name."""

    queues: list[QueueView]


class WorkerView(ResponseModel):
    """A process that runs jobs."""

    worker_id: str
    queues: list[str]
    started_at: Time
    renewed_at: Time = Field(description="Last renewal of its lease.")
    running: int = Field(description="Number of jobs that it has claimed.")


class WorkerList(ResponseModel):
    """A page of worker processes, by id."""

    workers: list[WorkerView]
    next_page_token: str | None


class LockView(ResponseModel):
    """A held lock key and its holder."""

    lock_key: str
    job_id: UUID
    worker_id: str
    acquired_at: Time
    waiting: int = Field(description="Due jobs that wait for the key.")


class LockList(ResponseModel):
    """The held lock keys, the longest held first; at most 1,000."""

    locks: list[LockView]


class ScheduleView(ResponseModel):
    """A schedule, which enqueues a job at each slot, and its state."""

    name: str
    queue: str
    task: str
    args: dict[str, Any]
    lock_key: str | None
    partition_key: str | None
    priority: int
    max_attempts: int | None
    lease_ttl_sec: int | None = Field(description="Null: the service's default.")
    cron: str | None
    every_sec: int | None
    time_zone: str = Field(description="Time zone in which cron is evaluated.")
    missed: Missed = Field(description="Treatment of missed slots.")
    grace_sec: int
    overlap: Overlap = Field(description="Treatment of a slot while the last job is not complete.")
    paused: bool
    paused_at: Time | None
    paused_by: str | None
    next_slot: Time | None = Field(description="Time of the next slot; null while the schedule is paused.")
    last_slot: Time | None = Field(description="Slot of the last enqueued job; null if there is none yet.")
    last_job_id: UUID | None


class ScheduleList(ResponseModel):
    """A page of schedules, by name."""

    schedules: list[ScheduleView]
    next_page_token: str | None = Field(description="The page_token of the next page; null on the last page.")


class Health(ResponseModel):
    """Health of the process: it responds."""

    status: Literal["healthy"] = "healthy"


class Info(ResponseModel):
    """Name, version and environment of the service."""

    service: str
    version: str
    environment: str

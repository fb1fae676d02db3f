"""Requests for jobs, shared by the HTTP and gRPC APIs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from classifeed_common.errors import FieldViolation
from classifeed_common.http.api.checking import checked, refusal
from classifeed_common.http.api.schema_words import NO_CONTROLS, NO_NUL, Described
from classifeed_jobs.api.schema_words import STORABLE_OBJECT
from classifeed_jobs.model.job import JobFilter, JobRequest
from classifeed_jobs.model.storable import (
    INT32,
    MAX_KEY,
    MAX_LABEL,
    MAX_LEASE_S,
    MAX_NAME,
    MAX_QUEUE,
    NotStorable,
    find_control,
    find_fault,
    json_text,
)

MAX_BATCH: Final = 1000
MAX_LOCKS: Final = 1000
DEFAULT_PAGE: Final = 50
_DEFAULT_PRIORITY: Final = 100
_DEFAULT_MAX_ATTEMPTS: Final = 5
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_YEARS: Final = (1970, 9998)  # valid in every time zone
_YEARS_SAID: Final = {"pattern": "^(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-"}


def _storable(value: Any) -> Any:
    if fault := find_fault(value):
        raise ValueError(fault)
    return value


def _small(value: dict[str, Any]) -> dict[str, Any]:
    try:
        json_text("it", value)
    except NotStorable as error:
        raise ValueError(str(error).removeprefix("it ")) from error
    return value


def without_controls(value: str) -> str:
    """Return the text unchanged.

    Raises:
        ValueError: The text contains control characters.
    """
    if fault := find_control(value):
        raise ValueError(fault)
    return value


def whole(value: Any) -> Any:
    """Return a float without a fraction as an integer, as in JSON Schema (5.0 is 5); return other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _in_utc(value: datetime) -> datetime:
    if not _YEARS[0] <= value.year <= _YEARS[1]:
        raise ValueError(f"must be between the years {_YEARS[0]} and {_YEARS[1]}")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_Storable = AfterValidator(_storable)
QueueName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_QUEUE),
    AfterValidator(without_controls),
    Described(NO_CONTROLS),
    Field(description="Queue of the job. Any name is valid; in a queue without workers, the job waits."),
]
TaskName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME),
    _Storable,
    Described(NO_NUL),
    Field(description="Name of the handler in the workers' registry."),
]
Key = Annotated[str, StringConstraints(min_length=1, max_length=MAX_KEY), _Storable, Described(NO_NUL)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=MAX_LABEL), _Storable, Described(NO_NUL)]
Args = Annotated[dict[str, Any], _Storable, AfterValidator(_small), Described(STORABLE_OBJECT)]


class RunRequest(BaseModel):
    """The run of a job: common fields of single jobs and of schedules."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    queue: QueueName
    task: TaskName
    lock_key: Key = Field(description="Only one job with the same key runs at a time.")
    args: Args | None = Field(default=None, description="Arguments of the handler, which validates them when it runs.")
    partition_key: Label | None = Field(
        default=None, description="Label for limits and fairness between tenants; it is not a lock."
    )
    priority: Annotated[int, Field(ge=-INT32, lt=INT32), BeforeValidator(whole)] | None = Field(
        default=None, description="Smaller values run first; 100 by default."
    )
    max_attempts: Annotated[int, Field(ge=1, lt=INT32), BeforeValidator(whole)] | None = Field(
        default=_DEFAULT_MAX_ATTEMPTS, description="Maximum number of attempts; null: no limit."
    )
    lease_ttl_sec: Annotated[int, Field(ge=1, le=MAX_LEASE_S), BeforeValidator(whole)] | None = Field(
        default=None,
        description="Seconds without a heartbeat after which another worker gets the job; default: the service's.",
    )

    def run_values(self) -> dict[str, Any]:
        """Return the values by the engine's names."""
        return {
            "queue": self.queue,
            "task": self.task,
            "args": self.args or {},
            "lock_key": self.lock_key,
            "partition_key": self.partition_key,
            "priority": _DEFAULT_PRIORITY if self.priority is None else self.priority,
            "max_attempts": self.max_attempts,
            "lease_ttl_s": self.lease_ttl_sec,
        }


class JobBody(RunRequest):
    """A job to enqueue. Null fields count as absent, except max_attempts."""

    model_config = ConfigDict(title="TriggerRequest")

    idempotency_key: Key | None = Field(
        default=None, description="The first request with a key creates a job; later ones return that job."
    )
    available_at: Annotated[datetime, AfterValidator(_in_utc), Described(_YEARS_SAID)] | None = Field(
        default=None, description="Earliest start (RFC 3339; UTC unless an offset is given); default: immediately."
    )
    producer: Label | None = Field(default=None, description="Label of the producer.")
    consumer_group: Label | None = Field(default=None, description="Label of the intended consumers.")

    def to_request(self) -> JobRequest:
        """Return the request in the engine's type."""
        return JobRequest(
            idempotency_key=self.idempotency_key,
            available_at=self.available_at,
            producer=self.producer,
            consumer_group=self.consumer_group,
            **self.run_values(),
        )


class FilterBody(BaseModel):
    """Filter of jobs: a job must match all fields that are set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    queue: QueueName | None = Field(default=None, description="Only jobs of this queue.")
    task: TaskName | None = Field(default=None, description="Only jobs of this task.")
    lock_key: Key | None = Field(default=None, description="Only jobs with this lock key.")

    def to_filter(self) -> JobFilter:
        """Return the filter in the engine's type."""
        return JobFilter(queue=self.queue, task=self.task, lock_key=self.lock_key)


class RetryBody(BaseModel):
    """Filter of failed jobs to retry: jobs of one queue that match all fields that are set."""

    model_config = ConfigDict(title="RetryRequest", extra="forbid", strict=True, frozen=True)

    queue: QueueName
    task: TaskName | None = Field(default=None, description="Only jobs of this task.")
    failed_since: Annotated[datetime, AfterValidator(_in_utc), Described(_YEARS_SAID)] | None = Field(
        default=None, description="Only jobs that failed then or later; all stored ones by default."
    )

    def to_filter(self) -> JobFilter:
        """Return the filter in the engine's type."""
        return JobFilter(queue=self.queue, task=self.task)


class _NamedQueue(BaseModel):
    queue: QueueName


class BatchBody(BaseModel):
    """Jobs to enqueue, all or none."""

    model_config = ConfigDict(title="TriggerBatch", extra="forbid", strict=True, frozen=True)

    jobs: list[JobBody] = Field(min_length=1, max_length=MAX_BATCH)

    @model_validator(mode="after")
    def _keys_differ(self) -> Self:
        keys = [job.idempotency_key for job in self.jobs if job.idempotency_key is not None]
        if len(set(keys)) != len(keys):
            raise ValueError("two jobs of one batch have the same idempotency_key: send each key once")
        return self


def checked_job_id(text: str) -> UUID:
    """Return the id of a job.

    Raises:
        InvalidArgument: REQUEST_INVALID, the text is not a UUID.
    """
    if _UUID.fullmatch(text) is None:
        raise refusal([FieldViolation("job_id", "must be a UUID such as 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")])
    return UUID(text)


def checked_queue(text: str) -> str:
    """Return the name of a queue: 1 to 63 characters without control characters.

    Raises:
        InvalidArgument: REQUEST_INVALID, the name is invalid.
    """
    return checked(_NamedQueue, {"queue": text}).queue

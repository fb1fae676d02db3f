"""Jobs, events, queues and locks as messages, and asked jobs out of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from uuid import UUID

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import TriggerJobRequest, TriggerJobResponse
from classifeed_common.errors import FieldViolation
from classifeed_jobs.faces.asked import refusal
from classifeed_jobs.faces.locks import LockState
from classifeed_jobs.job import EnqueuedJob, Job, JobEvent
from classifeed_jobs.queues import QueueStats

_OPTIONAL_TEXTS: Final = ("idempotency_key", "partition_key", "producer", "consumer_group")
_OPTIONAL_NUMBERS: Final = ("priority", "max_attempts", "lease_ttl_sec")
_COUNTS: Final = ("processed", "total")
_EXACT: Final = 2**53


def status_number(status: str | None) -> job_pb2.JobStatus:
    """Returns the number of a status; of None: unspecified."""
    return cast(job_pb2.JobStatus, job_pb2.JobStatus.Value(f"JOB_STATUS_{(status or 'unspecified').upper()}"))


def status_name(number: job_pb2.JobStatus) -> str | None:
    """Returns the engine's name of a status; of unspecified: None."""
    if number == job_pb2.JOB_STATUS_UNSPECIFIED:
        return None
    return job_pb2.JobStatus.Name(number).removeprefix("JOB_STATUS_").lower()


def asked_of(request: TriggerJobRequest) -> dict[str, Any]:
    """Returns the values of an AskedJob; what is not set is left out."""
    values: dict[str, Any] = {"queue": request.queue, "task": request.task, "lock_key": request.lock_key}
    values |= {name: getattr(request, name) for name in _OPTIONAL_TEXTS if getattr(request, name)}
    values |= {name: getattr(request, name) for name in _OPTIONAL_NUMBERS if request.HasField(name)}
    if request.HasField("args"):
        try:
            values["args"] = _whole(json_format.MessageToDict(request.args))
        except ValueError as error:
            raise refusal([FieldViolation("args", f"cannot be kept as JSON: {error}")]) from error
    if request.HasField("available_time"):
        values["available_at"] = time_of(request.available_time, "available_time")
    return values


def time_of(timestamp: Timestamp, field: str) -> datetime:
    """Returns a time.

    Raises:
        InvalidArgument: it is outside of what a Timestamp may hold.
    """
    try:
        return timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise refusal([FieldViolation(field, "must be a time between the years 1 and 9999")]) from error


def trigger_answer(enqueued: EnqueuedJob) -> TriggerJobResponse:
    """Returns the answer for an enqueued job."""
    return TriggerJobResponse(
        job_id=str(enqueued.job_id), status=status_number(enqueued.status), differs=enqueued.differs
    )


def job_message(job: Job) -> job_pb2.Job:
    """Returns a job."""
    return job_pb2.Job(
        job_id=str(job.job_id),
        queue=job.queue,
        task=job.task,
        args=_struct(job.args),
        status=status_number(job.status),
        attempt=job.attempt,
        claim_no=job.claim_no,
        max_attempts=job.max_attempts or 0,
        idempotency_key=job.idempotency_key or "",
        lock_key=job.lock_key or "",
        partition_key=job.partition_key or "",
        priority=job.priority,
        lease_ttl_sec=job.lease_ttl_sec,
        cancel_requested=job.cancel_requested,
        progress=_progress(job.progress),
        error=job.error or "",
        result=json_format.ParseDict(job.result, Value()) if job.result is not None else None,
        producer=job.producer or "",
        consumer_group=job.consumer_group or "",
        worker_id=job.claimed_by or "",
        create_time=_timestamp(job.created_at),
        available_time=_timestamp(job.available_at),
        start_time=_timestamp(job.started_at),
        heartbeat_time=_timestamp(job.heartbeat_at),
        end_time=_timestamp(job.finished_at),
    )


def without_heartbeat(job: job_pb2.Job) -> bytes:
    """Returns what a watcher is to hear of: that a worker lives is no change."""
    looks = job_pb2.Job()
    looks.CopyFrom(job)
    looks.ClearField("heartbeat_time")
    return looks.SerializeToString(deterministic=True)


def event_message(job_id: UUID, event: JobEvent) -> job_pb2.JobEvent:
    """Returns a line of a job's journal."""
    return job_pb2.JobEvent(
        job_id=str(job_id),
        event_id=event.event_id,
        kind=event.kind,
        time=_timestamp(event.at),
        attempt=event.attempt,
        claim_no=event.claim_no,
        worker_id=event.worker_id or "",
        payload=_struct(event.payload) if event.payload is not None else None,
    )


def queue_message(minute: QueueStats, hour: QueueStats | None) -> job_pb2.Queue:
    """Returns a queue, of its figures over the last minute and over the last hour."""
    limits = minute.limits
    ended_per_s = minute.succeeded_per_s + minute.failed_per_s + minute.canceled_per_s
    return job_pb2.Queue(
        queue=minute.queue,
        paused=minute.paused_at is not None,
        ready=minute.ready,
        delayed=minute.delayed,
        parked=minute.parked,
        running=minute.running,
        oldest_age_s=max(0.0, minute.oldest_s or 0.0),
        ended_last_minute=round(ended_per_s * 60),
        failed_last_hour=round(hour.failed_per_s * 3600) if hour is not None else 0,
        concurrency_limit=limits.max_running or 0,
        partition_limit=limits.max_running_per_partition or 0,
        rate_limit=limits.rate_per_s or 0.0,
    )


def lock_message(lock: LockState) -> job_pb2.Lock:
    """Returns a held key."""
    return job_pb2.Lock(
        lock_key=lock.lock_key,
        job_id=str(lock.job_id),
        worker_id=lock.worker_id,
        acquire_time=_timestamp(lock.acquired_at),
        waiting=lock.waiting,
    )


def _whole(value: Any) -> Any:
    """A Struct has no whole numbers: what is one stays one, so that args are the same over HTTP and gRPC."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {name: _whole(item) for name, item in value.items()} if isinstance(value, dict) else value


def _progress(progress: Mapping[str, Any] | None) -> job_pb2.JobProgress | None:
    if progress is None:
        return None
    details = {name: value for name, value in progress.items() if name not in _COUNTS}
    return job_pb2.JobProgress(
        processed=progress.get("processed") or 0, total=progress.get("total") or 0, details=_struct(details)
    )


def _struct(values: Mapping[str, Any]) -> Struct:
    return json_format.ParseDict(dict(values), Struct())


def _timestamp(time: datetime | None) -> Timestamp | None:
    if time is None:
        return None
    timestamp = Timestamp()
    timestamp.FromDatetime(time)
    return timestamp

"""Conversion of jobs, events, queues, workers and locks to messages, and of messages to requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import UUID

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import TriggerJobRequest, TriggerJobResponse
from classifeed_jobs.admin.queues import QueueStats
from classifeed_jobs.api.rpc.values import run_request, struct_of, time_of, timestamp_of
from classifeed_jobs.model.job import EnqueuedJob, HeldLock, Job, JobEvent, WorkerProcess

_OPTIONAL_TEXTS: Final = ("idempotency_key", "producer", "consumer_group")
_INT64: Final = 2**63
_COUNTS: Final = ("processed", "total")


def status_number(status: str | None) -> job_pb2.JobStatus:
    """Return the enum value of a status; None becomes unspecified."""
    return cast(job_pb2.JobStatus, job_pb2.JobStatus.Value(f"JOB_STATUS_{(status or 'unspecified').upper()}"))


def status_name(number: job_pb2.JobStatus) -> str | None:
    """Return the engine's name of a status; unspecified becomes None."""
    if number == job_pb2.JOB_STATUS_UNSPECIFIED:
        return None
    return job_pb2.JobStatus.Name(number).removeprefix("JOB_STATUS_").lower()


def job_body_of(request: TriggerJobRequest) -> dict[str, Any]:
    """Return the values of a JobBody, without fields that are not set."""
    values = run_request(request)
    values |= {name: getattr(request, name) for name in _OPTIONAL_TEXTS if getattr(request, name)}
    if request.HasField("available_time"):
        values["available_at"] = time_of(request.available_time, "available_time")
    return values


def trigger_response(enqueued: EnqueuedJob) -> TriggerJobResponse:
    """Return the response for an enqueued job."""
    return TriggerJobResponse(
        job_id=str(enqueued.job_id), status=status_number(enqueued.status), differs=enqueued.differs
    )


def job_message(job: Job) -> job_pb2.Job:
    """Return a job as a message."""
    return job_pb2.Job(
        job_id=str(job.job_id),
        queue=job.queue,
        task=job.task,
        args=struct_of(job.args),
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
        create_time=timestamp_of(job.created_at),
        available_time=timestamp_of(job.available_at),
        start_time=timestamp_of(job.started_at),
        heartbeat_time=timestamp_of(job.heartbeat_at),
        end_time=timestamp_of(job.finished_at),
        reason=job.reason or "",
        worker_deaths=job.worker_deaths,
        unknown_faults=job.unknown_faults,
    )


def without_heartbeat(job: job_pb2.Job) -> bytes:
    """Return the serialized job without its heartbeat: a heartbeat alone is not a change for watchers."""
    looks = job_pb2.Job()
    looks.CopyFrom(job)
    looks.ClearField("heartbeat_time")
    return looks.SerializeToString(deterministic=True)


def event_message(job_id: UUID, event: JobEvent) -> job_pb2.JobEvent:
    """Return an event of a job's journal as a message."""
    return job_pb2.JobEvent(
        job_id=str(job_id),
        event_id=event.event_id,
        kind=event.kind,
        time=timestamp_of(event.at),
        attempt=event.attempt,
        claim_no=event.claim_no,
        worker_id=event.worker_id or "",
        payload=struct_of(event.payload) if event.payload is not None else None,
    )


def queue_message(stats: QueueStats) -> job_pb2.Queue:
    """Return a queue as a message, with statistics over the last minute."""
    limits = stats.limits
    ended_per_s = stats.succeeded_per_s + stats.failed_per_s + stats.canceled_per_s
    return job_pb2.Queue(
        queue=stats.queue,
        paused=stats.paused_at is not None,
        ready=stats.ready,
        delayed=stats.delayed,
        parked=stats.parked,
        running=stats.running,
        oldest_age_s=max(0.0, stats.oldest_s or 0.0),
        ended_last_minute=round(ended_per_s * 60),
        failed_last_hour=stats.failed_last_hour,
        concurrency_limit=limits.max_running or 0,
        partition_limit=limits.max_running_per_partition or 0,
        rate_limit=limits.rate_per_s or 0.0,
        workers=stats.workers,
        rate_burst=limits.rate_burst or 0,
    )


def worker_message(worker: WorkerProcess) -> job_pb2.Worker:
    """Return a worker process as a message."""
    return job_pb2.Worker(
        worker_id=worker.worker_id,
        queues=worker.queues,
        start_time=timestamp_of(worker.started_at),
        renew_time=timestamp_of(worker.renewed_at),
        running=worker.running,
    )


def lock_message(lock: HeldLock) -> job_pb2.Lock:
    """Return a held lock key as a message."""
    return job_pb2.Lock(
        lock_key=lock.lock_key,
        job_id=str(lock.job_id),
        worker_id=lock.worker_id,
        acquire_time=timestamp_of(lock.acquired_at),
        waiting=lock.waiting,
    )


def _progress(progress: Mapping[str, Any] | None) -> job_pb2.JobProgress | None:
    if progress is None:
        return None
    details = {name: value for name, value in progress.items() if name not in _COUNTS}
    return job_pb2.JobProgress(
        processed=_count(progress.get("processed")), total=_count(progress.get("total")), details=struct_of(details)
    )


def _count(value: Any) -> int:
    """Return a count that fits an int64; 0 for other values."""
    return value if isinstance(value, int) and -_INT64 <= value < _INT64 else 0

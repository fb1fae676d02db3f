"""Output of all fields of a job for people, and words about jobs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2
from classifeed_cli.job_services import Responses
from classifeed_cli.messages import document_of, enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.amounts import time_words

ENDED = frozenset({job_pb2.JOB_STATUS_SUCCEEDED, job_pb2.JOB_STATUS_FAILED, job_pb2.JOB_STATUS_CANCELED})


def status_of(status: job_pb2.JobStatus) -> str:
    """Return the status of a job in lower case."""
    return enum_label(job_pb2.JobStatus.DESCRIPTOR, status).lower()


def job_document(service: str, job: job_pb2.Job) -> dict[str, Any]:
    """Return the JSON document of a job."""
    return {"service": service, **document_of(job)}


def show_unreachable(out: Output, responses: Responses[Any]) -> dict[str, Any]:
    """Report services that did not respond, and return them for the JSON document; empty if all responded."""
    for service, why in responses.unreachable.items():
        out.progress(f"{service} is left out: {why} `classifeed status` says what is wrong.")
    return {"unreachable": sorted(responses.unreachable)} if responses.unreachable else {}


def show_job(out: Output, service: str, job: job_pb2.Job) -> None:
    """Print all fields of a job."""
    stopping = ", stop requested" if job.cancel_requested and job.status == job_pb2.JOB_STATUS_RUNNING else ""
    out.say(f"{job.task} in {job.queue} of {service}: {status_of(job.status)}{stopping}")
    out.fields({
        "job": job.job_id,
        "attempts": attempts_words(job),
        "progress": progress_words(job),
        "reason": job.reason,
        "error": job.error,
        "result": json_words(MessageToDict(job)["result"]) if job.HasField("result") else "",
        "args": json_words(MessageToDict(job.args)) if job.args.fields else "",
        "lock key": job.lock_key,
        "partition": job.partition_key,
        "key": job.idempotency_key,
        "priority": "" if job.priority == 100 else str(job.priority),
        "producer": job.producer,
        "for": job.consumer_group,
        "worker": job.worker_id,
        "enqueued": time_words(job.create_time),
        "due": _future(job),
        "started": time_words(job.start_time) if job.HasField("start_time") else "",
        "heartbeat": time_words(job.heartbeat_time) if job.HasField("heartbeat_time") else "",
        "ended": time_words(job.end_time) if job.HasField("end_time") else "",
    })  # fmt: skip


def describe_limits(queue: job_pb2.Queue) -> str:
    """Return the limits of a queue, as the end of a sentence."""
    limits = [
        f"{queue.concurrency_limit} at a time" if queue.concurrency_limit else "",
        f"{queue.partition_limit} of one partition key" if queue.partition_limit else "",
        f"{queue.rate_limit:g} started per second" if queue.rate_limit else "",
        f"{queue.rate_burst} at once after an idle time" if queue.rate_burst else "",
    ]
    return f"runs at most {', '.join(filter(None, limits))}" if any(limits) else "has no limits"


def progress_words(job: job_pb2.Job) -> str:
    """Return the progress of a job; empty if it has not reported any."""
    if not job.HasField("progress"):
        return ""
    progress = job.progress
    words = f"{progress.processed:,} of {progress.total:,}" if progress.total else f"{progress.processed:,}"
    details = MessageToDict(progress.details)
    return f"{words} {json_words(details)}" if details else words


def attempts_words(job: job_pb2.Job) -> str:
    """Return the number of attempts, and how many there may be."""
    return f"{job.attempt} of {job.max_attempts}" if job.max_attempts else f"{job.attempt}, without limit"


def ago_s(time: Timestamp) -> float:
    """Return the seconds since a time."""
    return (datetime.now(UTC) - time.ToDatetime(UTC)).total_seconds()


def _future(job: job_pb2.Job) -> str:
    is_later = job.status == job_pb2.JOB_STATUS_QUEUED and ago_s(job.available_time) < 0
    return time_words(job.available_time) if is_later else ""


def json_words(value: Any) -> str:
    """Return a value as JSON, with whole numbers where it has them."""
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

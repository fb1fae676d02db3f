"""Output of jobs, queues, locks and schedules for people, in tables of 80 columns; and of all fields of a job."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2, schedule_pb2
from classifeed_cli.job_services import Responses
from classifeed_cli.messages import document_of, enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import cut, one_line
from classifeed_cli.views.amounts import duration_words, local_time, time_words

ENDED = frozenset({job_pb2.JOB_STATUS_SUCCEEDED, job_pb2.JOB_STATUS_FAILED, job_pb2.JOB_STATUS_CANCELED})
_NAME_WIDTH: Final = 31
_FAILURE_WIDTH: Final = 84
_JOB_COLUMNS: Final = ("job", "service", "status", "for", "task")
_AGES: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


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


def show_jobs(out: Output, jobs: Iterable[tuple[str, job_pb2.Job]]) -> None:
    """Print a line for each job, with the time in its status, and below it the beginning of its error.

    Seller and lock key are columns if the output has no width limit; on a terminal, they are below the line.
    """
    is_wide = out.edge is None
    room = sys.maxsize if is_wide else _FAILURE_WIDTH
    out.entries(
        (*_JOB_COLUMNS, "seller", "key") if is_wide else _JOB_COLUMNS,
        (
            (
                (
                    job.job_id, service, status_of(job.status), _age(_ago_s(_since(job))), job.task,
                    *((job.partition_key, job.lock_key) if is_wide else ()),
                ),
                ["" if is_wide else _whose(job), cut(_failure(job), room)],
            )
            for service, job in jobs
        ),
    )  # fmt: skip


def show_job(out: Output, service: str, job: job_pb2.Job) -> None:
    """Print all fields of a job."""
    stopping = ", stop requested" if job.cancel_requested and job.status == job_pb2.JOB_STATUS_RUNNING else ""
    out.say(f"{job.task} in {job.queue} of {service}: {status_of(job.status)}{stopping}")
    lines = (
        ("job", job.job_id),
        ("attempts", _attempts(job)),
        ("progress", progress_words(job)),
        ("reason", job.reason),
        ("error", job.error),
        ("result", _json(MessageToDict(job)["result"]) if job.HasField("result") else ""),
        ("args", _json(MessageToDict(job.args)) if job.args.fields else ""),
        ("lock key", job.lock_key),
        ("partition", job.partition_key),
        ("key", job.idempotency_key),
        ("priority", "" if job.priority == 100 else str(job.priority)),
        ("producer", job.producer),
        ("for", job.consumer_group),
        ("worker", job.worker_id),
        ("enqueued", time_words(job.create_time)),
        ("due", _future(job)),
        ("started", time_words(job.start_time) if job.HasField("start_time") else ""),
        ("heartbeat", time_words(job.heartbeat_time) if job.HasField("heartbeat_time") else ""),
        ("ended", time_words(job.end_time) if job.HasField("end_time") else ""),
    )
    for label, value in lines:
        if value:
            out.say(f"  {label:<9} {value}", hang=12)


def show_events(out: Output, events: Iterable[job_pb2.JobEvent]) -> None:
    """Print a job's journal."""
    out.table(
        ("when", "try", "what", "details"),
        (
            (time_words(event.time), event.attempt or "", event.kind.replace("_", " "), _payload(event))
            for event in events
        ),
    )


def show_queues(out: Output, queues: Mapping[str, Iterable[job_pb2.Queue]]) -> None:
    """Print a line for each queue."""
    out.table(
        ("service", "ready", "later", "locked", "running", "workers", "oldest", "/min", "queue"),
        (
            (
                service,
                _count(queue.ready),
                _count(queue.delayed),
                _count(queue.parked),
                _count(queue.running),
                f"{queue.workers}, paused" if queue.paused else queue.workers,
                _age(queue.oldest_age_s) if queue.ready or queue.parked else "",
                _count(queue.ended_last_minute),
                queue.queue,
            )
            for service, found in queues.items()
            for queue in found
        ),
    )


def describe_limits(queue: job_pb2.Queue) -> str:
    """Return the limits of a queue, as the end of a sentence."""
    limits = [
        f"{queue.concurrency_limit} at a time" if queue.concurrency_limit else "",
        f"{queue.partition_limit} of one partition key" if queue.partition_limit else "",
        f"{queue.rate_limit:g} started per second" if queue.rate_limit else "",
        f"{queue.rate_burst} at once after an idle time" if queue.rate_burst else "",
    ]
    return f"runs at most {', '.join(filter(None, limits))}" if any(limits) else "has no limits"


def show_workers(out: Output, workers: Mapping[str, Iterable[job_pb2.Worker]]) -> None:
    """Print a line for each worker process."""
    out.table(
        ("service", "running", "for", "renewed", "worker", "queues"),
        (
            (
                service,
                worker.running,
                duration_words(max(0.0, _ago_s(worker.start_time))),
                _age(_ago_s(worker.renew_time)),
                worker.worker_id,
                ", ".join(worker.queues),
            )
            for service, found in workers.items()
            for worker in found
        ),
    )


def show_locks(out: Output, locks: Mapping[str, Iterable[job_pb2.Lock]]) -> None:
    """Print a line for each held lock key."""
    out.table(
        ("job", "service", "held for", "waiting", "lock key"),
        (
            (lock.job_id, service, duration_words(max(0.0, _ago_s(lock.acquire_time))), lock.waiting, lock.lock_key)
            for service, found in locks.items()
            for lock in found
        ),
    )


def show_schedules(out: Output, schedules: Iterable[tuple[str, schedule_pb2.Schedule]]) -> None:
    """Print a line for each schedule: its next slot, the age of the last one, and its timing."""
    room = _NAME_WIDTH if out.edge is not None else sys.maxsize
    out.table(
        ("service", "next", "last", "schedule", "when"),
        (
            (
                service,
                "paused" if schedule.paused else f"{local_time(schedule.next_slot_time):%Y-%m-%d %H:%M}",
                _age(_ago_s(schedule.last_slot_time)) if schedule.HasField("last_slot_time") else "",
                cut(one_line(schedule.name), room),
                _timing(schedule),
            )
            for service, schedule in schedules
        ),
    )


def progress_words(job: job_pb2.Job) -> str:
    """Return the progress of a job; empty if it has not reported any."""
    if not job.HasField("progress"):
        return ""
    progress = job.progress
    words = f"{progress.processed:,} of {progress.total:,}" if progress.total else f"{progress.processed:,}"
    details = MessageToDict(progress.details)
    return f"{words} {_json(details)}" if details else words


def _whose(job: job_pb2.Job) -> str:
    named = (("seller", job.partition_key), ("key", job.lock_key))
    return ", ".join(f"{label} {one_line(value)}" for label, value in named if value)


def _attempts(job: job_pb2.Job) -> str:
    return f"{job.attempt} of {job.max_attempts}" if job.max_attempts else f"{job.attempt}, without limit"


def _failure(job: job_pb2.Job) -> str:
    return f"attempts {_attempts(job)}: {one_line(job.error)}" if job.error else ""


def _count(count: int) -> str:
    """Return a count in at most five characters, so that the names have room."""
    if count < 100_000:
        return str(count)
    return f"{count // 1000}k" if count < 10_000_000 else f"{count // 1_000_000}M"


def _since(job: job_pb2.Job) -> Timestamp:
    if job.status in ENDED:
        return job.end_time
    return job.start_time if job.status == job_pb2.JOB_STATUS_RUNNING else job.create_time


def _age(age_s: float) -> str:
    """Return only the largest part of an age, so that the column is narrow."""
    for unit, seconds in _AGES:
        if age_s >= seconds:
            return f"{age_s // seconds:.0f} {unit}"
    return "0 s"


def _timing(schedule: schedule_pb2.Schedule) -> str:
    if schedule.WhichOneof("timing") == "every_sec":
        return f"every {duration_words(schedule.every_sec)}"
    return f"{schedule.cron} {schedule.time_zone}"


def _ago_s(time: Timestamp) -> float:
    return (datetime.now(UTC) - time.ToDatetime(UTC)).total_seconds()


def _future(job: job_pb2.Job) -> str:
    is_later = job.status == job_pb2.JOB_STATUS_QUEUED and _ago_s(job.available_time) < 0
    return time_words(job.available_time) if is_later else ""


def _payload(event: job_pb2.JobEvent) -> str:
    payload = MessageToDict(event.payload)
    return ", ".join(f"{name}: {value if isinstance(value, str) else _json(value)}" for name, value in payload.items())


def _json(value: Any) -> str:
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

"""Tables of jobs, queues, workers, locks and schedules for people; they fit into 80 columns."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2, schedule_pb2
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import cut, one_line
from classifeed_cli.views.amounts import duration_words, local_time, time_words
from classifeed_cli.views.job import ENDED, ago_s, attempts_words, json_words, status_of

Item = TypeVar("Item")
_NAME_WIDTH: Final = 31
_FAILURE_WIDTH: Final = 84
_AGES: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class Owned(NamedTuple, Generic[Item]):
    """An item of a service."""

    service: str
    item: Item


def _whose(job: job_pb2.Job) -> str:
    named = (("seller", job.partition_key), ("key", job.lock_key))
    return ", ".join(f"{label} {one_line(value)}" for label, value in named if value)


def _failure(job: job_pb2.Job) -> str:
    return f"attempts {attempts_words(job)}: {one_line(job.error)}" if job.error else ""


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


def _payload(event: job_pb2.JobEvent) -> str:
    payload = MessageToDict(event.payload)
    return ", ".join(
        f"{name}: {value if isinstance(value, str) else json_words(value)}" for name, value in payload.items()
    )


JOBS: Final = Table[Owned[job_pb2.Job]](
    {
        "job": lambda each: each.item.job_id,
        "service": lambda each: each.service,
        "status": lambda each: status_of(each.item.status),
        "for": lambda each: _age(ago_s(_since(each.item))),
        "task": lambda each: each.item.task,
    },
    below=lambda each: [_whose(each.item), cut(_failure(each.item), _FAILURE_WIDTH)],
    empty="There are no such jobs.",
)
"""Jobs with the time in their status; below, seller and lock key, and the beginning of the error."""

WIDE_JOBS: Final = Table[Owned[job_pb2.Job]](
    {
        **JOBS.columns,
        "seller": lambda each: each.item.partition_key,
        "key": lambda each: each.item.lock_key,
    },
    below=lambda each: [_failure(each.item)],
    empty=JOBS.empty,
)
"""The same for an output without a limit of its width."""

EVENTS: Final = Table[job_pb2.JobEvent](
    {
        "when": lambda event: time_words(event.time),
        "try": lambda event: event.attempt or "",
        "what": lambda event: event.kind.replace("_", " "),
        "details": _payload,
    }
)

QUEUES: Final = Table[Owned[job_pb2.Queue]](
    {
        "service": lambda each: each.service,
        "ready": lambda each: _count(each.item.ready),
        "later": lambda each: _count(each.item.delayed),
        "locked": lambda each: _count(each.item.parked),
        "running": lambda each: _count(each.item.running),
        "workers": lambda each: f"{each.item.workers}{', paused' if each.item.paused else ''}",
        "oldest": lambda each: _age(each.item.oldest_age_s) if each.item.ready or each.item.parked else "",
        "/min": lambda each: _count(each.item.ended_last_minute),
        "queue": lambda each: each.item.queue,
    }
)

WORKERS: Final = Table[Owned[job_pb2.Worker]](
    {
        "service": lambda each: each.service,
        "running": lambda each: each.item.running,
        "for": lambda each: duration_words(max(0.0, ago_s(each.item.start_time))),
        "renewed": lambda each: _age(ago_s(each.item.renew_time)),
        "worker": lambda each: each.item.worker_id,
        "queues": lambda each: ", ".join(each.item.queues),
    },
    empty="No process runs jobs.",
)

LOCKS: Final = Table[Owned[job_pb2.Lock]](
    {
        "job": lambda each: each.item.job_id,
        "service": lambda each: each.service,
        "held for": lambda each: duration_words(max(0.0, ago_s(each.item.acquire_time))),
        "waiting": lambda each: each.item.waiting,
        "lock key": lambda each: each.item.lock_key,
    },
    empty="No lock key is held.",
)

SCHEDULES: Final = Table[Owned[schedule_pb2.Schedule]](
    {
        "service": lambda each: each.service,
        "next": lambda each: "paused" if each.item.paused else f"{local_time(each.item.next_slot_time):%Y-%m-%d %H:%M}",
        "last": lambda each: _age(ago_s(each.item.last_slot_time)) if each.item.HasField("last_slot_time") else "",
        "schedule": lambda each: cut(one_line(each.item.name), _NAME_WIDTH),
        "when": lambda each: _timing(each.item),
    },
    empty="There are no schedules.",
)
"""Schedules: the next slot, the age of the last one, and the timing."""

WIDE_SCHEDULES: Final = Table[Owned[schedule_pb2.Schedule]](
    {**SCHEDULES.columns, "schedule": lambda each: each.item.name}, empty=SCHEDULES.empty
)
"""The same for an output without a limit of its width."""

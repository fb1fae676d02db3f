"""Metrics of the jobs: runs of this process, and the state of the tables at the last poll of its reaper.

The error rate is the share of `classifeed_job_run_seconds_count` with outcome="failed" or "retry".
"""

from __future__ import annotations

from functools import cache
from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet
from classifeed_jobs.telemetry.durations import Durations

METRICS: Final = MetricSet()

_QUEUE: Final = {"queue": "queue of the jobs"}

RUN_DURATION: Final = Durations(
    METRICS,
    "classifeed_job_run_seconds",
    "Time from the start of a run to its completion, by the requested outcome.",
    {
        **_QUEUE,
        "task": "registered task; `unknown` for all others",
        "outcome": ("succeeded", "failed", "canceled", "retry", "fault", "snoozed", "returned", "lost", "unreadable"),
    },
)
WAIT_DURATION: Final = Durations(
    METRICS, "classifeed_job_wait_seconds", "Time from when a job was ready to its claim.", _QUEUE
)
RUNNING: Final = METRICS.gauge("classifeed_jobs_running", "Runs under way in this process.", unit="runs", labels=_QUEUE)
ENDS_REFUSED: Final = METRICS.counter(
    "classifeed_job_ends_refused_total", "Completions that came too late: the claim was no longer held.", unit="ends"
)
SET_ASIDE: Final = METRICS.counter(
    "classifeed_jobs_set_aside_total", "Jobs that could not be handled and were ended with UNREADABLE.", unit="jobs"
)
REAPED: Final = METRICS.counter(
    "classifeed_jobs_reaped_total",
    "Jobs requeued from silent processes, by outcome.",
    unit="jobs",
    labels={"outcome": ("lost", "failed", "canceled")},
)
JOBS: Final = METRICS.gauge(
    "classifeed_jobs_live",
    "Jobs that are not complete.",
    unit="jobs",
    labels={**_QUEUE, "state": ("ready", "delayed", "parked", "running")},
)
BY_STATUS: Final = METRICS.gauge(
    "classifeed_jobs",
    "Jobs of the service by status: queued and running now, the others completed within the last 5 minutes.",
    unit="jobs",
    labels={**_QUEUE, "status": ("queued", "running", "succeeded", "failed", "canceled")},
)
OLDEST: Final = METRICS.gauge(
    "classifeed_jobs_oldest_seconds", "How long the oldest ready job has been waiting.", unit="seconds", labels=_QUEUE
)
SCHEDULE_AGE: Final = METRICS.gauge(
    "classifeed_job_schedule_success_age_seconds",
    "How long no job of a schedule has succeeded; of schedules whose lock key is their name.",
    unit="seconds",
    labels={"schedule": "name of the schedule"},
)
WORKERS: Final = METRICS.gauge(
    "classifeed_job_workers", "Worker processes that have renewed their lease within a minute.", unit="processes"
)

# The lookup of a child by its labels costs more than counting; there are few queues.
running = cache(RUNNING.labels)

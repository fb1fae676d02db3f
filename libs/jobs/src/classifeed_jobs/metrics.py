"""Metrics of the jobs: of this process's runs, and of the tables, as its reaper last saw them.

The error rate is that of `job_run_seconds_count` with outcome="failed" or "retry" to all of it.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from prometheus_client import Counter, Gauge

from classifeed_jobs.durations import Durations

RUN_DURATION: Final = Durations(
    "job_run_seconds",
    "Time from the start of a run to its end, by queue, task and outcome asked for.",
    ("queue", "task", "outcome"),
)
WAIT_DURATION: Final = Durations(
    "job_wait_seconds", "Time from when a job was ready to its claim, by queue.", ("queue",)
)
RUNNING: Final = Gauge("jobs_running", "Runs under way in this process, by queue.", ("queue",))
ENDS_REFUSED: Final = Counter("job_ends_refused_total", "Ends that came too late: the claim was not held any more.")
REAPED: Final = Counter(
    "jobs_reaped_total", "Jobs taken back from silent processes, by what became of them.", ("outcome",)
)
JOBS: Final = Gauge(
    "jobs_live", "Jobs that have not ended, by queue and state: ready, delayed, parked, running.", ("queue", "state")
)
OLDEST: Final = Gauge("jobs_oldest_seconds", "How long the oldest ready job has been waiting, by queue.", ("queue",))
SCHEDULE_AGE: Final = Gauge(
    "job_schedule_success_age_seconds",
    "For how long no job of a schedule has succeeded, by schedule; of those whose lock key is their name.",
    ("schedule",),
)
WORKERS: Final = Gauge("job_workers", "Worker processes that have renewed their lease within a minute.")

# Looking a child up by its labels costs more than counting; queues are few.
running = cache(RUNNING.labels)

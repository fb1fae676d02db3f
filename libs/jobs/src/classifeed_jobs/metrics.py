"""Metrics of a worker process; those of the tables (depth, age) are asked of the database."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)

RUN_DURATION: Final = Histogram(
    "job_run_seconds",
    "Time from the start of a run to its end, by queue, task and outcome asked for.",
    ("queue", "task", "outcome"),
    buckets=_SECONDS,
)
WAIT_DURATION: Final = Histogram(
    "job_wait_seconds", "Time from when a job was ready to its claim, by queue.", ("queue",), buckets=_SECONDS
)
RUNNING: Final = Gauge("jobs_running", "Runs under way in this process, by queue.", ("queue",))
ENDS_REFUSED: Final = Counter("job_ends_refused_total", "Ends that came too late: the claim was not held any more.")
REAPED: Final = Counter(
    "jobs_reaped_total", "Jobs taken back from silent processes, by what became of them.", ("outcome",)
)

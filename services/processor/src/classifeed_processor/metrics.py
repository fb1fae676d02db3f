"""Metrics of the processor."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

_KIND: Final = ("load", "delete")
_STATUS: Final = ("succeeded", "failed", "superseded", "canceled")

LOADS: Final = METRICS.counter(
    "classifeed_loads_total",
    "Loads that ended, and removals of feeds (`delete`), by how.",
    unit="loads",
    labels={"kind": _KIND, "status": _STATUS},
)
LOAD_DURATION: Final = METRICS.histogram(
    "classifeed_load_duration_seconds",
    "Time from when the turn of a load came to its end, with the time it was held. Those that ended before their turn "
    "are left out.",
    labels={"kind": _KIND, "status": _STATUS},
    buckets=(0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400),
)
READ_BYTES: Final = METRICS.counter(
    "classifeed_load_read_bytes_total",
    "Bytes of files whose offers were sent to their end; one that is sent again counts again.",
    unit="bytes",
)
OFFERS: Final = METRICS.counter(
    "classifeed_offers_total",
    "Offers of files by what became of them, as batches are answered, and offers removed at the end of loads. "
    "Those of a file that is sent again count again.",
    unit="offers",
    labels={
        "outcome": (
            "added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates",
            "removed",
        )
    },
)  # fmt: skip
OPEN: Final = METRICS.gauge(
    "classifeed_loads_open", "Loads that wait for their turn, run, or wait for their replies; without held ones.",
    unit="loads",
)  # fmt: skip
HELD: Final = METRICS.gauge(
    "classifeed_loads_held", "Loads that wait for somebody to confirm or reject them.", unit="loads"
)
OLDEST_HELD: Final = METRICS.gauge(
    "classifeed_loads_held_oldest_age_seconds",
    "For how long the first of them has been waiting; 0 without any.",
    unit="seconds",
)
LATE_DROPPED: Final = METRICS.counter(
    "classifeed_loads_late_errors_dropped_total",
    "Errors that were found out about offers of loads of which nothing is kept any more.",
    unit="errors",
)

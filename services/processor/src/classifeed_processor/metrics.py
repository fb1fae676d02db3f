"""Metrics of the processor."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

_KIND: Final = ("load", "delete")
_STATUS: Final = ("succeeded", "failed", "superseded", "canceled")

LOADS: Final = METRICS.counter(
    "classifeed_loads_total",
    "Completed loads, and removals of feeds (`delete`), by outcome.",
    unit="loads",
    labels={"kind": _KIND, "status": _STATUS},
)
LOAD_DURATION: Final = METRICS.histogram(
    "classifeed_load_duration_seconds",
    "Time from the start of a load to its completion, with the time it was held. Loads that completed before their "
    "start are left out.",
    labels={"kind": _KIND, "status": _STATUS},
    buckets=(0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400),
)
READ_BYTES: Final = METRICS.counter(
    "classifeed_load_read_bytes_total",
    "Bytes of files whose offers were sent completely; a file that is sent again counts again.",
    unit="bytes",
)
OFFERS: Final = METRICS.counter(
    "classifeed_offers_total",
    "Offers of files by outcome, as replies to batches come, and offers removed at the completion of loads. "
    "If a file is sent again, its offers count again.",
    unit="offers",
    labels={
        "outcome": (
            "added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates",
            "removed",
        )
    },
)  # fmt: skip
OPEN: Final = METRICS.gauge(
    "classifeed_loads_open", "Loads that are queued, run, or wait for replies; without held ones.",
    unit="loads",
)  # fmt: skip
HELD: Final = METRICS.gauge(
    "classifeed_loads_held", "Held loads, which wait to be confirmed or rejected.", unit="loads"
)
OLDEST_HELD: Final = METRICS.gauge(
    "classifeed_loads_held_oldest_age_seconds",
    "Time for which the oldest held load has been waiting; 0: there is none.",
    unit="seconds",
)
LATE_DROPPED: Final = METRICS.counter(
    "classifeed_loads_late_errors_dropped_total",
    "Errors of offers whose load is no longer stored.",
    unit="errors",
)

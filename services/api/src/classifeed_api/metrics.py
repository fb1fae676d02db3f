"""Metrics of the api."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

LOST_TASKS: Final = METRICS.counter(
    "classifeed_api_lost_tasks_total",
    "Uploads and removals whose task the processor has lost; they get a new one.",
    unit="tasks",
)
LOST_SOURCES: Final = METRICS.counter(
    "classifeed_api_lost_sources_total",
    "Feeds that the loader has lost; they are stored there again.",
    unit="feeds",
)

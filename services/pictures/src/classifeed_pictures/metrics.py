"""Metrics of pictures."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

REQUESTS: Final = METRICS.counter(
    "classifeed_pictures_requests_total",
    "Requests for pictures by what followed: known (the result was sent at once), download or copy (it was ordered), "
    "waiting (an order is under way, or the next attempt is not due).",
    unit="requests",
    labels={"outcome": ("known", "download", "copy", "waiting")},
)
ORDERS: Final = METRICS.counter(
    "classifeed_pictures_orders_total",
    "Orders that followed from events.",
    unit="orders",
    labels={"kind": ("download", "copy", "delete")},
)
RESULTS: Final = METRICS.counter(
    "classifeed_pictures_results_total",
    "Results sent to those who requested pictures: stored, or failed.",
    unit="results",
    labels={"result": ("stored", "failed")},
)
COPIES: Final = METRICS.counter(
    "classifeed_pictures_copies_total",
    "Orders to copy and to delete: copied, resized (a job makes sizes first), failed, deleted, unchanged (what was to "
    "be deleted was not there, or was stored again).",
    unit="orders",
    labels={"outcome": ("copied", "resized", "failed", "deleted", "unchanged")},
)
LOADS: Final = METRICS.counter(
    "classifeed_pictures_loads_total",
    "Downloads and copies with new sizes by their result: OK, or the code of the failure.",
    unit="loads",
    labels={"code": "OK, or the code of the failure"},
)
EVENTS: Final = METRICS.counter(
    "classifeed_pictures_events_total",
    "Events that were sent to their shards, by what they were made of; those sent again count again.",
    unit="events",
    labels={"source": ("requests", "loads", "files")},
)
REFUSED: Final = METRICS.counter(
    "classifeed_pictures_refused_items_total",
    "Requests, notices and rows of event files that cannot be used, by what was done with them.",
    unit="items",
    labels={"outcome": ("result_sent", "dead_letter", "row")},
)
EVENT_FILES: Final = METRICS.counter(
    "classifeed_pictures_event_files_total",
    "Event files that were taken to their end, failed, or were replaced under way.",
    unit="files",
    labels={"outcome": ("done", "failed", "replaced")},
)
OLDEST_REQUEST: Final = METRICS.gauge(
    "classifeed_pictures_oldest_request_seconds",
    "Age of the oldest request that waits for its first result.",
    unit="seconds",
)

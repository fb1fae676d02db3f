"""Metrics of pictures."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()
_DECODE_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
# Only operators create namespaces, so there are few.
_NAMESPACE: Final = {"picture_namespace": "namespace of pictures, such as `offers`"}

REQUESTS: Final = METRICS.counter(
    "classifeed_pictures_requests_total",
    "Requests for pictures by what followed: known (the result was sent at once), download or copy (it was ordered), "
    "waiting (an order is under way, or the next attempt is not due).",
    unit="requests",
    labels={"outcome": ("known", "download", "copy", "waiting")},
)
ORDERS: Final = METRICS.counter(
    "classifeed_pictures_orders_total",
    "Orders that followed from events. Those that wait are in `classifeed_jobs_live`, queues `pictures.download` and "
    "`pictures.resize`, and in `classifeed_consumer_partition_lag_records` of the topics of orders.",
    unit="orders",
    labels={"kind": ("download", "refresh", "copy", "delete")},
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
    "Downloads and copies with new sizes by their result: OK, UNCHANGED (a refresh found the same picture), or the "
    "code of the failure.",
    unit="loads",
    labels={"code": "OK, UNCHANGED, or the code of the failure"},
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
MARKS: Final = METRICS.counter(
    "classifeed_pictures_delete_marks_total",
    "Marks of pictures that no offer used: set by a comparison, cleared by a request, and those whose picture was "
    "deleted. Files that were deleted are `classifeed_blobs_deleted_total`.",
    unit="marks",
    labels={"change": ("set", "cleared", "deleted")},
)
ORPHANS: Final = METRICS.counter(
    "classifeed_pictures_orphans_total",
    "Stored pictures that no state held, and that were removed: a downloader was killed before it reported them, and "
    "the next download brought others. The log names them.",
    unit="pictures",
)
STORED_PICTURES: Final = METRICS.gauge(
    "classifeed_pictures_stored_pictures", "Stored pictures, by namespace.", unit="pictures", labels=_NAMESPACE
)
STORED_BYTES: Final = METRICS.gauge(
    "classifeed_pictures_stored_bytes",
    "Bytes of stored pictures with their smaller versions, by namespace, as its quota counts them.",
    unit="bytes",
    labels=_NAMESPACE,
)
QUOTA: Final = METRICS.gauge(
    "classifeed_pictures_quota_bytes",
    "What the pictures of a namespace may take; 0: no limit.",
    unit="bytes",
    labels=_NAMESPACE,
)
DAMAGED_ROWS: Final = METRICS.counter(
    "classifeed_pictures_damaged_rows_total",
    "Rows of a table that could not be read, each time that they were read; the log names them "
    "(`pictures.row.damaged`). What can be is rebuilt out of other tables, the rest is left out.",
    unit="rows",
    labels={"table": ("pictures", "stored_pictures")},
)
REFUSING_HOSTS: Final = METRICS.gauge(
    "classifeed_pictures_refusing_hosts",
    "Hosts that have refused all requests for a day, and are still requested; the log names them.",
    unit="hosts",
)
BACKUP_AGE: Final = METRICS.gauge(
    "classifeed_pictures_backup_age_seconds",
    "Time since the newest complete backup of the state began; without any, since the process started that watches.",
    unit="seconds",
)
DECODING: Final = METRICS.histogram(
    "classifeed_pictures_decode_seconds",
    "Time that a process took for a picture, without the wait for the process: to its versions, to its refusal, or "
    "until the process ended or its caller was gone (interrupted).",
    labels={"outcome": ("decoded", "refused", "interrupted")},
    buckets=_DECODE_SECONDS,
)
DECODER_KILLS: Final = METRICS.counter(
    "classifeed_pictures_decoder_kills_total",
    "Processes that ended over a picture: at its deadline, at the limit of memory, by a crash, killed from outside, as "
    "by the kernel, or because the caller was gone.",
    unit="processes",
    labels={"cause": ("deadline", "memory", "crash", "killed", "canceled")},
)

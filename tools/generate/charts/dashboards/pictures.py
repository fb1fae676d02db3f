"""The dashboard of pictures: contents of namespaces, queues, downloads, decoding and deletion."""

from __future__ import annotations

from typing import Final

from tools.generate.charts.dashboards.model import Dashboard, Panel, Query, Row, Variable

_OURS: Final = 'group=~"pictures.*"'
_QUEUE: Final = 'queue=~"pictures.*"'
_SCHEMA: Final = 'schema="pictures"'
_CHOSEN: Final = 'picture_namespace=~"$namespace"'
_BY_NAMESPACE: Final = "max by (picture_namespace)"


def _rate(metric: str, by: str, chosen: str = "") -> Query:
    return Query(f"sum by ({by}) (rate({metric}{{{chosen}}}[5m]))", f"{{{{{by}}}}}")


_NAMESPACES: Final = Row(
    "Namespaces",
    (
        Panel(
            "Stored pictures",
            "short",
            (Query(f"{_BY_NAMESPACE} (classifeed_pictures_stored_pictures{{{_CHOSEN}}})", "{{picture_namespace}}"),),
        ),
        Panel(
            "Stored bytes, and quota",
            "bytes",
            (
                Query(f"{_BY_NAMESPACE} (classifeed_pictures_stored_bytes{{{_CHOSEN}}})", "{{picture_namespace}}"),
                Query(
                    f"{_BY_NAMESPACE} (classifeed_pictures_quota_bytes{{{_CHOSEN}}}) > 0",
                    "quota of {{picture_namespace}}",
                ),
            ),
        ),
        Panel(
            "Net change of stored pictures a second",
            "ops",
            (
                Query(
                    f"{_BY_NAMESPACE} (deriv(classifeed_pictures_stored_pictures{{{_CHOSEN}}}[15m]))",
                    "{{picture_namespace}}",
                ),
            ),
        ),
    ),
)
_REQUESTS: Final = Row(
    "Requests",
    (
        Panel("Requests by outcome", "ops", (_rate("classifeed_pictures_requests_total", "outcome"),)),
        Panel("Results", "ops", (_rate("classifeed_pictures_results_total", "result"),)),
        Panel(
            "Oldest request without a result", "s", (Query("max(classifeed_pictures_oldest_request_seconds)", "age"),)
        ),
    ),
)
_QUEUES: Final = Row(
    "Queues",
    (
        Panel(
            "Lag of consumers",
            "short",
            (
                Query(
                    "sum by (group, topic) (max by (group, topic, partition) "
                    f"(classifeed_consumer_partition_lag_records{{{_OURS}}}))",
                    "{{group}}: {{topic}}",
                ),
            ),
        ),
        Panel(
            "Records handled a second",
            "ops",
            (
                Query(
                    f"sum by (group, topic) (rate(classifeed_consumer_handled_records_total{{{_OURS}}}[5m]))",
                    "{{group}}: {{topic}}",
                ),
            ),
        ),
        Panel(
            "Age of the oldest record",
            "s",
            (
                Query(
                    f"max by (group, topic) (classifeed_consumer_oldest_age_seconds{{{_OURS}}})", "{{group}}: {{topic}}"
                ),
            ),
        ),
        Panel(
            "Waiting and running jobs",
            "short",
            (
                Query(
                    f"max by (queue, state) (classifeed_jobs_live{{{_QUEUE}}})",
                    "{{queue}}: {{state}}",
                ),
            ),
        ),
        Panel(
            "Runs of jobs a second",
            "ops",
            (
                Query(
                    f"sum by (queue, outcome) (rate(classifeed_job_run_seconds_count{{{_QUEUE}}}[5m]))",
                    "{{queue}}: {{outcome}}",
                ),
            ),
        ),
        Panel(
            "Outbox: age of the oldest message, and messages a second",
            "short",
            (
                Query(f"max(classifeed_outbox_oldest_age_seconds{{{_SCHEMA}}})", "seconds"),
                Query(f"sum(rate(classifeed_outbox_sent_messages_total{{{_SCHEMA}}}[5m]))", "messages a second"),
            ),
        ),
    ),
)
_DOWNLOADS: Final = Row(
    "Downloads",
    (
        Panel("Downloads by code", "ops", (_rate("classifeed_fetch_downloads_total", "code", 'job=~".*pictures.*"'),)),
        Panel(
            "Failures by host",
            "ops",
            (_rate("classifeed_fetch_host_downloads_total", "busiest_host", 'job=~".*pictures.*",code!="OK"'),),
        ),
        Panel(
            "Hosts that have refused for a day", "short", (Query("max(classifeed_pictures_refusing_hosts)", "hosts"),)
        ),
    ),
)
_PICTURES: Final = Row(
    "Decoding and deletion",
    (
        Panel(
            "Time to decode: median and 99th percentile",
            "s",
            tuple(
                Query(
                    f"histogram_quantile({share}, sum by (le) (rate(classifeed_pictures_decode_seconds_bucket[5m])))",
                    legend,
                )
                for share, legend in (("0.5", "median"), ("0.99", "99 %"))
            ),
        ),
        Panel("Processes killed over a picture", "ops", (_rate("classifeed_pictures_decoder_kills_total", "cause"),)),
        Panel(
            "Marks and deletions",
            "ops",
            (
                Query("sum by (change) (rate(classifeed_pictures_delete_marks_total[5m]))", "mark {{change}}"),
                Query('sum(rate(classifeed_pictures_copies_total{outcome="deleted"}[5m]))', "pictures deleted"),
                Query(f"sum(rate(classifeed_blobs_deleted_total{{{_SCHEMA}}}[5m]))", "files deleted"),
            ),
        ),
    ),
)
_BACKUPS: Final = Row(
    "Backups",
    (
        Panel(
            "Age of the newest backup", "s", (Query("max(classifeed_pictures_backup_age_seconds)", "newest backup"),)
        ),
        Panel(
            "Backups and restores by outcome",
            "short",
            (
                Query(
                    "sum by (task, outcome) "
                    '(increase(classifeed_job_run_seconds_count{task=~"pictures.(backup|restore)"}[1h]))',
                    "{{task}}: {{outcome}}",
                ),
            ),
        ),
    ),
)
PICTURES: Final = Dashboard(
    "pictures",
    "Classifeed: pictures",
    (Variable("namespace", "Namespace", "classifeed_pictures_stored_pictures", "picture_namespace"),),
    (_NAMESPACES, _REQUESTS, _QUEUES, _DOWNLOADS, _PICTURES, _BACKUPS),
)

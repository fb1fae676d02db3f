"""Metrics of every service, even if it does not update them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from classifeed_common.telemetry.metric_set import MetricSet

if TYPE_CHECKING:
    from prometheus_client import Gauge

METRICS: Final = MetricSet()

_CALL_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_METHOD: Final = "the method, as `package.Service/Method`"
_GROUP_TOPIC: Final = {"group": "consumer group", "topic": "Kafka topic"}
_PARTITION: Final = {**_GROUP_TOPIC, "partition": "number of the partition"}
_SCHEMA: Final = {"schema": "schema of the service's tables"}
_SHARD: Final = {**_SCHEMA, "shard": "number of the outbox's shard"}

RPC_SERVER_DURATION: Final = METRICS.histogram(
    "rpc_server_call_duration_seconds",
    "How long gRPC calls took, by method and status code: their rate, errors and duration.",
    labels={"rpc_method": _METHOD, "rpc_response_status_code": "name of the gRPC status code, such as `OK`"},
    buckets=_CALL_SECONDS,
    standard="OpenTelemetry `rpc.server.call.duration`",
)
RPC_SERVER_ACTIVE: Final = METRICS.gauge(
    "classifeed_rpc_active_calls",
    "gRPC calls that are being handled now.",
    unit="calls",
    labels={"rpc_method": _METHOD},
)
HTTP_SERVER_DURATION: Final = METRICS.histogram(
    "http_server_request_duration_seconds",
    "How long requests of the HTTP APIs took, by method, route and status: their rate, errors and duration.",
    labels={
        "http_request_method": "HTTP method",
        "http_route": "path with names for its variable parts",
        "http_response_status_code": "HTTP status code",
    },
    buckets=_CALL_SECONDS,
    standard="OpenTelemetry `http.server.request.duration`",
)
HTTP_REFUSALS: Final = METRICS.counter(
    "classifeed_http_refusals_total",
    "Requests that were refused before they were handled.",
    unit="requests",
    labels={"api": "name of the HTTP API; `pages`: sent by a web page, to any route", "reason": "why"},
)
HTTP_CONNECTIONS_CLOSED: Final = METRICS.counter(
    "classifeed_http_connections_closed_total",
    "HTTP connections that the service closed: slow_reader (the client took nothing for 30 s), no_request (no complete "
    "head of a request within 30 s), unread_body (an unread body did not end), too_many.",
    unit="connections",
    labels={"reason": ("slow_reader", "no_request", "unread_body", "too_many")},
)
ROLE_FAILURES: Final = METRICS.counter(
    "classifeed_role_failures_total",
    "Roles that failed with an exception; the process exits with them.",
    unit="roles",
    labels={"role": "role of the process"},
)
ROLE_BLOCKED: Final = METRICS.gauge(
    "classifeed_role_blocked_items",
    "Items that a role cannot handle. Above 0 for minutes: `/health/ready` names them.",
    unit="items",
    labels={"role": "role of the process"},
)
BACKLOG: Final = METRICS.gauge(
    "classifeed_backlog_items",
    "Work that waits: tasks, messages to be sent, documents to be published or delivered, verdicts to come. A service "
    "with 0 everywhere is settled. A count of thousands is up to 5 s old.",
    unit="items",
    labels={"item": "`<role>.<what waits>`, such as `relay.outbox` or `publish.offers`"},
)
SNAPSHOT_REFUSED: Final = METRICS.gauge(
    "classifeed_snapshot_refused",
    "1 while the file of a snapshot is wrong or missing and an older version stays in force: `/health/ready` says why.",
    unit="snapshots",
    labels={"snapshot": "name of the snapshot, such as `rules`"},
)
SNAPSHOT_SWAPS: Final = METRICS.counter(
    "classifeed_snapshot_swaps_total",
    "Versions of a snapshot that were put in force, the first one too.",
    unit="versions",
    labels={"snapshot": "name of the snapshot, such as `rules`"},
)
DB_DEAD_CONNECTIONS: Final = METRICS.counter(
    "classifeed_db_dead_connections_total",
    "Open connections to PostgreSQL that were cut because they gave no response.",
    unit="connections",
    labels=_SCHEMA,
)
DB_UNANSWERED_PROBES: Final = METRICS.counter(
    "classifeed_db_unanswered_probes_total",
    "Probes of silent connections without a response from PostgreSQL.",
    unit="probes",
    labels=_SCHEMA,
)
BLOBS_DELETED: Final = METRICS.counter(
    "classifeed_blobs_deleted_total",
    "Files deleted from the object store after their grace time.",
    unit="files",
    labels=_SCHEMA,
)
BLOBS_UNKNOWN: Final = METRICS.counter(
    "classifeed_blobs_unknown_total",
    "Files found in the object store without a known reference.",
    unit="files",
    labels=_SCHEMA,
)
BLOBS_DAMAGED: Final = METRICS.counter(
    "classifeed_blobs_damaged_total",
    "Files with references that could not be read, by fault (missing, corrupt).",
    unit="files",
    labels={**_SCHEMA, "fault": ("missing", "corrupt")},
)
OUTBOX_SENT: Final = METRICS.counter(
    "classifeed_outbox_sent_messages_total",
    "Messages of the outbox that Kafka has acknowledged.",
    unit="messages",
    labels=_SHARD,
)
OUTBOX_OLDEST_AGE: Final = METRICS.gauge(
    "classifeed_outbox_oldest_age_seconds",
    "Age of the oldest message that waits to be sent.",
    unit="seconds",
    labels=_SHARD,
)
PUBLISHED: Final = METRICS.counter(
    "classifeed_published_rows_total",
    "Rows that were pushed to another service, by whether it accepted them.",
    unit="rows",
    labels={"name": "name of the mark, such as `offers`", "taken": ("yes", "no")},
)
REPAIRED_DOCUMENTS: Final = METRICS.counter(
    "classifeed_repaired_documents_total",
    "Documents of the registry that differed from their table, for example after its restore: withdrawn because their "
    "rows are lost, or published again.",
    unit="documents",
    labels={"client": "client of the index, such as `offers`", "repair": ("withdrawn", "published")},
)
PARTITION_LAG: Final = METRICS.gauge(
    "classifeed_consumer_partition_lag_records",
    "Records of the partition that the group has not handled yet, counted every few seconds.",
    unit="records",
    labels=_PARTITION,
)
OLDEST_AGE: Final = METRICS.gauge(
    "classifeed_consumer_oldest_age_seconds",
    "Age of the record that the group handles now, or began to handle last; 0: all are handled.",
    unit="seconds",
    labels=_PARTITION,
)
HANDLED: Final = METRICS.counter(
    "classifeed_consumer_handled_records_total",
    "Records whose effect was committed.",
    unit="records",
    labels=_GROUP_TOPIC,
)
BLOCKED_SECONDS: Final = METRICS.gauge(
    "classifeed_consumer_blocked_seconds",
    "Time since the first failure of the partition's next record; present while it fails. Alert above 60.",
    unit="seconds",
    labels=_PARTITION,
)
BLOCKED: Final = METRICS.counter(
    "classifeed_consumer_blocked_attempts_total",
    "Attempts that failed and are repeated.",
    unit="attempts",
    labels={"group": "consumer group"},
)
REOPENED: Final = METRICS.counter(
    "classifeed_consumer_reopened_total",
    "Clients replaced because their group no longer had them as members.",
    unit="clients",
    labels={"group": "consumer group"},
)
LOST_RECORDS: Final = METRICS.counter(
    "classifeed_consumer_lost_records_total",
    "Records that were removed from the log before they were read.",
    unit="records",
    labels=_GROUP_TOPIC,
)
ZOMBIES: Final = METRICS.counter(
    "classifeed_consumer_zombie_effects_total",
    "Effects rolled back because another consumer had moved the positions.",
    unit="effects",
    labels={"group": "consumer group"},
)
DEAD_LETTERS: Final = METRICS.counter(
    "classifeed_consumer_dead_letters_total",
    "Records sent to the dead letter topic.",
    unit="records",
    labels=_GROUP_TOPIC,
)
PRODUCERS_REPLACED: Final = METRICS.counter(
    "classifeed_producer_replaced_total",
    "Clients replaced after a fatal error or because they delivered nothing.",
    unit="clients",
    labels={"client": "client id of the producer"},
)


def remove(gauge: Gauge, part: tuple[str, str, int]) -> None:
    """Remove the gauge of a partition that is not measured any more; idempotent."""
    group, topic, partition = part
    with suppress(KeyError):
        gauge.remove(group, topic, str(partition))

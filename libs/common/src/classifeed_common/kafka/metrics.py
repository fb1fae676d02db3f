"""Metrics of the consumers, each with its meaning."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from prometheus_client import Counter, Gauge

PARTITION_LAG: Final = Gauge(
    "classifeed_consumer_partition_lag_records",
    "Records of the partition that the group has not handled yet, as counted within the last seconds",
    ("group", "topic", "partition"),
)
OLDEST_AGE: Final = Gauge(
    "classifeed_consumer_oldest_age_seconds",
    "Age of the record that the group handles now, or last began to; 0 when it has handled all",
    ("group", "topic", "partition"),
)
HANDLED: Final = Counter(
    "classifeed_consumer_handled_records", "Records whose effect was committed", ("group", "topic")
)
BLOCKED_SECONDS: Final = Gauge(
    "classifeed_consumer_blocked_seconds",
    "For how long the next record of the partition has failed; there while it fails. Alert above 60",
    ("group", "topic", "partition"),
)
REOPENED: Final = Counter(
    "classifeed_consumer_reopened", "Clients replaced because their group did not know them any more", ("group",)
)
PRODUCERS_REPLACED: Final = Counter(
    "classifeed_producer_replaced",
    "Clients replaced after a fatal error or because they delivered nothing",
    ("client",),
)
LOST_RECORDS: Final = Counter(
    "classifeed_consumer_lost_records",
    "Records that were removed from the log before they were read",
    ("group", "topic"),
)
BLOCKED: Final = Counter(
    "classifeed_consumer_blocked_attempts", "Attempts that failed for a passing reason and are tried again", ("group",)
)
ZOMBIES: Final = Counter(
    "classifeed_consumer_zombie_effects",
    "Effects rolled back because another consumer had moved the positions",
    ("group",),
)
DEAD_LETTERS: Final = Counter(
    "classifeed_consumer_dead_letters", "Records sent to the dead letter topic", ("group", "topic")
)


def remove(gauge: Gauge, part: tuple[str, str, int]) -> None:
    """Take away the value of a partition that is not measured any more; idempotent."""
    group, topic, partition = part
    with suppress(KeyError):
        gauge.remove(group, topic, str(partition))

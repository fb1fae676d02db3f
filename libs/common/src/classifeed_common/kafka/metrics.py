"""Metrics of the consumers, each with its meaning."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

PARTITION_LAG: Final = Gauge(
    "classifeed_consumer_partition_lag_records",
    "Records of the partition that the group has not handled yet, as of its last fetch",
    ("group", "topic", "partition"),
)
OLDEST_AGE: Final = Gauge(
    "classifeed_consumer_oldest_age_seconds",
    "Age of the oldest record in the last batch that the group began to handle",
    ("group", "topic", "partition"),
)
HANDLED: Final = Counter(
    "classifeed_consumer_handled_records", "Records whose effect was committed", ("group", "topic")
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

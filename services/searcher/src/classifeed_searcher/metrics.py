"""Metrics of the searcher."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

_CLIENT: Final = {"client": "client of the index, such as `offers`"}

TIME_TO_SEARCHABLE: Final = METRICS.histogram(
    "classifeed_time_to_searchable_seconds",
    "Time from the change of an offer to when searches find that state, by the clocks of offers and searcher; without "
    "removals, rebuilt indexes, and repairs. A document that was composed more than an hour after the change counts "
    "as a repair.",
    labels=_CLIENT,
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600),
)
DROPPED: Final = METRICS.counter(
    "classifeed_searcher_dropped_documents_total",
    "Index documents that were not applied: duplicates, from a sender that had lost the shard, or of another epoch.",
    unit="documents",
    labels={**_CLIENT, "reason": ("repeated", "fenced", "other_epoch")},
)
REFUSED: Final = METRICS.counter(
    "classifeed_searcher_refused_documents_total",
    "Documents that do not fit the schema of their index.",
    unit="documents",
    labels=_CLIENT,
)
REBUILDS: Final = METRICS.counter(
    "classifeed_searcher_rebuilds_total",
    "Rebuilds of an index from the registry.",
    unit="indexes",
    labels={**_CLIENT, "cause": ("no_index", "log_lost", "difference", "other_epoch")},
)
REBUILT_DOCUMENTS: Final = METRICS.counter(
    "classifeed_searcher_rebuilt_documents_total",
    "Documents read from the registry by rebuilds.",
    unit="documents",
    labels=_CLIENT,
)
DAMAGED: Final = METRICS.counter(
    "classifeed_searcher_damaged_documents_total",
    "Damaged rows of the registry that rebuilds left out. The receiver names them.",
    unit="documents",
    labels=_CLIENT,
)
IS_WHOLE: Final = METRICS.gauge(
    "classifeed_searcher_index_whole",
    "1 while the index can be searched, 0 while it is being rebuilt or, after a start, catches up with the topic.",
    unit="1 or 0",
    labels=_CLIENT,
)
COMPARED: Final = METRICS.counter(
    "classifeed_searcher_compared_shards_total",
    "Shards compared with the registry by digests.",
    unit="shards",
    labels={**_CLIENT, "outcome": ("equal", "different")},
)
DIFFERING: Final = METRICS.gauge(
    "classifeed_searcher_differing_shards",
    "Shards that differ from the registry, as last compared.",
    unit="shards",
    labels=_CLIENT,
)

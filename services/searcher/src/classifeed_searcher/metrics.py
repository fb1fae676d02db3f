"""Metrics of the searcher."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

DROPPED: Final = Counter(
    "classifeed_searcher_dropped_documents",
    "Index documents that were not applied: repeated (seen before), fenced (of a sender that lost the shard), "
    "other_epoch",
    ("client", "reason"),
)
REFUSED: Final = Counter(
    "classifeed_searcher_refused_documents", "Documents that do not fit the schema of their index", ("client",)
)
REBUILDS: Final = Counter(
    "classifeed_searcher_rebuilds",
    "Indexes begun anew from the registry: no_index, log_lost, difference, other_epoch",
    ("client", "cause"),
)
REBUILT_DOCUMENTS: Final = Counter(
    "classifeed_searcher_rebuilt_documents", "Documents read from the registry by rebuilds", ("client",)
)
IS_WHOLE: Final = Gauge(
    "classifeed_searcher_index_whole",
    "1 while the index can be searched, 0 while it is being made or, after a start, catches up with the topic",
    ("client",),
)
COMPARED: Final = Counter(
    "classifeed_searcher_compared_shards",
    "Shards compared with the registry by digests: equal, different",
    ("client", "outcome"),
)
DIFFERING: Final = Gauge(
    "classifeed_searcher_differing_shards", "Shards that differ from the registry, as last compared", ("client",)
)

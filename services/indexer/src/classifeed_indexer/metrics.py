"""Metrics of the indexer."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

REFILLED: Final = METRICS.counter(
    "classifeed_indexer_refilled_documents_total",
    "Documents put into the queue `emergency` by refills.",
    unit="documents",
    labels={"client": "client of the index, such as `offers`"},
)
LOST_CURSORS: Final = METRICS.counter(
    "classifeed_indexer_lost_cursors_total",
    "Cursors that the receiver's queues no longer had, so that delivery continued at another position, by the "
    "receiver's reason.",
    unit="cursors",
    labels={"client": "client of the index, such as `offers`", "reason": ("CURSOR_TRIMMED", "CURSOR_UNKNOWN")},
)

"""Metrics of the receiver."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

DAMAGED: Final = METRICS.gauge(
    "classifeed_receiver_damaged_documents",
    "Rows of the registry whose content is damaged, so that no index gets them, up to 10,000 of all clients. "
    "`/health/ready` names the first keys.",
    unit="documents",
    labels={"client": "client of the documents, such as `offers`"},
)

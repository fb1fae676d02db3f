"""Metrics of the loader."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

FETCHES: Final = METRICS.counter(
    "classifeed_fetches_total",
    "Completed fetches, by outcome, with the code of failed ones.",
    unit="fetches",
    labels={
        "outcome": ("loaded", "not_modified", "same_content", "failed", "dropped"),
        "code": "one of the [codes of fetches](fetch-codes.md); empty unless it failed",
    },
)
FETCHED_BYTES: Final = METRICS.counter(
    "classifeed_fetched_bytes_total", "Bytes of files that were downloaded completely.", unit="bytes"
)

"""Metrics of the HTTP API of jobs, named as in its contract."""

from __future__ import annotations

from typing import Final

from classifeed_common.http.api.metrics import ContractMetrics
from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

_STANDARD: Final = "the jobs API"
_ROUTE: Final = {"method": "HTTP method", "route": "path with names for its variable parts"}

BY_CONTRACT: Final = ContractMetrics(
    requests=METRICS.counter(
        "requests_total", "Requests received.", unit="requests", labels=_ROUTE, standard=_STANDARD
    ),
    responses=METRICS.counter(
        "responses_total",
        "Responses sent.",
        unit="responses",
        labels={**_ROUTE, "status": "HTTP status code"},
        standard=_STANDARD,
    ),
    duration_ms=METRICS.histogram(
        "duration_ms",
        "Time from a request to its response.",
        unit="milliseconds",
        labels=_ROUTE,
        buckets=(1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000),
        standard=_STANDARD,
    ),
)

"""Metrics by the names that the contract of an API gives them, beside those of every service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import prometheus_client as prometheus


@dataclass(frozen=True, slots=True)
class ContractMetrics:
    """What the middleware moves, all by method and route.

    Attributes:
        requests: that came in.
        responses: given, by HTTP status besides.
        duration_ms: from a request to its response.
    """

    requests: prometheus.Counter
    responses: prometheus.Counter
    duration_ms: prometheus.Histogram

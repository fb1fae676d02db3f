"""Metrics that the contract of an API names, in addition to those of every service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import prometheus_client as prometheus


@dataclass(frozen=True, slots=True)
class ContractMetrics:
    """Metrics that the middleware updates, by method and route.

    Attributes:
        requests: received requests.
        responses: sent responses, also by HTTP status.
        duration_ms: time from a request to its response.
    """

    requests: prometheus.Counter
    responses: prometheus.Counter
    duration_ms: prometheus.Histogram

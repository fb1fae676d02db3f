"""Metrics of the HTTP face: requests, answers by status, and how long they took."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

REQUESTS: Final = Counter("requests_total", "Requests that came in, by route.", ("method", "route"))
RESPONSES: Final = Counter("responses_total", "Answers given, by route and status.", ("method", "route", "status"))
DURATION: Final = Histogram(
    "duration_ms",
    "Time from a request to its answer in milliseconds, by route.",
    ("method", "route"),
    buckets=(1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000),
)

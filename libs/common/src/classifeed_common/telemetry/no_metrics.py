"""Metrics without effect, for processes without prometheus_client."""

from __future__ import annotations

from typing import Any, Self, TypeAlias


class NoMetric:
    """A metric with the methods of prometheus_client's metrics and without effect."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def labels(self, *_: Any, **__: Any) -> Self:
        """Return the metric itself for any labels."""
        return self

    def inc(self, _amount: float = 1) -> None:
        """Do nothing."""

    dec = set = observe = inc

    def remove(self, *_: Any) -> None:
        """Do nothing."""


Counter: TypeAlias = NoMetric
Gauge: TypeAlias = NoMetric
Histogram: TypeAlias = NoMetric

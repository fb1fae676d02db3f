"""Metrics that count nothing, where prometheus_client is not installed."""

from __future__ import annotations

from typing import Any, Self, TypeAlias


class NoMetric:
    """Takes every call that a metric of prometheus_client takes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def labels(self, *_: Any, **__: Any) -> Self:
        """Return itself, whatever the labels."""
        return self

    def inc(self, _amount: float = 1) -> None:
        """Count nothing."""

    dec = set = observe = inc

    def remove(self, *_: Any) -> None:
        """Remove nothing."""


Counter: TypeAlias = NoMetric
Gauge: TypeAlias = NoMetric
Histogram: TypeAlias = NoMetric

"""Durations: a histogram for events that occur thousands of times per second."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from classifeed_common.telemetry.metric_set import Declaration, Labels, MetricSet

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import CollectorRegistry

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
_NAMES: Final = (*map(str, _BOUNDS), "+Inf")


class _Series:
    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * len(_NAMES)
        self.total_s = 0.0


class Durations:
    """A Prometheus histogram of seconds, from 5 ms to two hours, for observations of a single thread.

    The histogram of prometheus_client locks each count and scans its buckets in Python; this one costs a tenth.

    Args:
        metrics: Set in which the metric is declared.
        name: Name of the metric.
        meaning: Help text of the metric.
        labels: Names and values of the labels.
        registry: Registry of the metric; None for the default one, if prometheus_client is installed.
    """

    def __init__(
        self,
        metrics: MetricSet,
        name: str,
        meaning: str,
        labels: Labels,
        *,
        registry: CollectorRegistry | None = None,
    ) -> None:
        metrics.declare(Declaration(name, "histogram", "seconds", meaning, labels))
        self._name = name
        self._meaning = meaning
        self._labels = tuple(labels)
        self._series: dict[tuple[str, ...], _Series] = {}
        registry = registry or _default_registry()
        if registry is not None:
            registry.register(self)

    def observe(self, seconds: float, *labels: str) -> None:
        """Count an observation with the given label values."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = _Series()
        series.counts[bisect_left(_BOUNDS, seconds)] += 1
        series.total_s += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the metric; called by the registry."""
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(self._name, self._meaning, labels=self._labels)
        for labels, series in list(self._series.items()):
            at_most = accumulate(series.counts)
            family.add_metric(labels, list(zip(_NAMES, at_most, strict=True)), series.total_s)
        yield family


def _default_registry() -> CollectorRegistry | None:
    try:
        from prometheus_client import REGISTRY
    except ImportError:
        return None
    return REGISTRY

"""Metrics as typed constants: each service or library declares its metrics with their meaning in one module.

The page docs/reference/metrics.md is generated from them (`make pages`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

try:
    from prometheus_client import Counter, Gauge, Histogram
except ImportError:  # the extra `metrics` is not installed
    from classifeed_common.telemetry.no_metrics import Counter, Gauge, Histogram  # type: ignore[assignment]

PREFIX: Final = "classifeed_"

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
Labels: TypeAlias = Mapping[str, str | tuple[str, ...]]
"""Labels by name, with their values if these are fixed, otherwise with a description. Values must not grow with the
use: no seller, task or address.
"""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The description of a metric.

    Attributes:
        name: scraped name; a counter's with `_total`, a histogram's without `_bucket`.
        kind: counter, gauge or histogram.
        unit: unit of its value.
        meaning: description of one or two sentences.
        labels: see `Labels`.
        standard: standard that defines the name, if it has not our prefix.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    labels: Labels
    standard: str = ""


class MetricSet:
    """The metrics of one module.

    Attributes:
        declarations: declarations in order.
    """

    def __init__(self) -> None:
        self.declarations: list[Declaration] = []

    def counter(
        self, name: str, meaning: str, *, unit: str, labels: Labels | None = None, standard: str = ""
    ) -> Counter:
        """Declare and register a counter; its name ends in `_total`.

        Raises:
            ValueError: the name has neither our prefix nor that of a standard.
        """
        self.declare(Declaration(name, "counter", unit, meaning, labels or {}, standard))
        return Counter(name, meaning, tuple(labels or ()))

    def gauge(self, name: str, meaning: str, *, unit: str, labels: Labels | None = None) -> Gauge:
        """Declare and register a gauge.

        Raises:
            ValueError: the name has not our prefix.
        """
        self.declare(Declaration(name, "gauge", unit, meaning, labels or {}))
        return Gauge(name, meaning, tuple(labels or ()))

    def histogram(
        self,
        name: str,
        meaning: str,
        *,
        buckets: Sequence[float],
        unit: str = "seconds",
        labels: Labels | None = None,
        standard: str = "",
    ) -> Histogram:
        """Declare and register a histogram with these upper bounds.

        Raises:
            ValueError: the name has neither our prefix nor that of a standard.
        """
        self.declare(Declaration(name, "histogram", unit, meaning, labels or {}, standard))
        return Histogram(name, meaning, tuple(labels or ()), buckets=buckets)

    def declare(self, declaration: Declaration) -> None:
        """Record a metric that other code registers.

        Raises:
            ValueError: the name has neither our prefix nor that of a standard, or is a counter's without `_total`.
        """
        if not declaration.name.startswith(PREFIX) and not declaration.standard:
            raise ValueError(f"{declaration.name}: the name of a metric begins with {PREFIX}")
        if (declaration.kind == "counter") != declaration.name.endswith("_total"):
            raise ValueError(f"{declaration.name}: the name of a counter, and of nothing else, ends in _total")
        self.declarations.append(declaration)

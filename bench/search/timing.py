"""Times of searches, one after another."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from bench.kit.report import quantile
from bench.search.queries import Query
from bench.search.sides import Side

_LIMIT_S: Final = 2.0
_LEAST: Final = 10


class Times(NamedTuple):
    """Milliseconds of searches, and the median number of matches."""

    p50: float
    p99: float
    found: float


def times_of(seconds: Sequence[float], found: Sequence[int] = (0,)) -> Times:
    """Return the median and the 99th percentile."""
    return Times(quantile(seconds, 50) * 1000, quantile(seconds, 99) * 1000, statistics.median(found))


def measure_side(side: Side, queries: Sequence[Query]) -> Times:
    """Run each search once, for at most two seconds; the first searches also run before, as warm-up."""
    for query in queries[:_LEAST]:
        side.search(query)
    taken: list[float] = []
    found: list[int] = []
    ends_at = time.perf_counter() + _LIMIT_S
    for query in queries:
        started = time.perf_counter()
        found.append(side.search(query))
        taken.append(time.perf_counter() - started)
        if taken[_LEAST:] and time.perf_counter() > ends_at:
            break
    return times_of(taken, found)

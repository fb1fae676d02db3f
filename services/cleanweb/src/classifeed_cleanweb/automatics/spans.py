"""Spans of a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Cover:
    """A set of spans that tells whether one of them contains a given span."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """Store the spans, each from its start to before its end."""
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def has(self, start: int, end: int) -> bool:
        """Return whether one of the spans contains the given span; in logarithmic time."""
        before = bisect_right(self._starts, start)
        return before > 0 and self._ends[before - 1] >= end

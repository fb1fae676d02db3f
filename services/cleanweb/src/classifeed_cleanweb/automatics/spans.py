"""Places of a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Cover:
    """Places, and whether another one lies inside of one of them."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """Keep the places, each from its start to before its end."""
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def has(self, start: int, end: int) -> bool:
        """Return whether a place lies inside of one of these; in logarithmic time."""
        before = bisect_right(self._starts, start)
        return before > 0 and self._ends[before - 1] >= end

"""Duty cycle: limits the share of time of work that gets slow while a long-running transaction keeps dead rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

_SHARE: Final = 0.05
_LONG_S: Final = 0.003


class DutyCycle:
    """Spaces repetitions of some work so that it takes at most a small share of the time.

    Cheap work is hardly delayed: work that took a millisecond may be repeated after twenty.

    Args:
        share: Maximum share of the time.
        longest_s: Maximum seconds between two repetitions.

    Attributes:
        is_long: Whether the last repetition took more than 3 ms.
    """

    def __init__(self, share: float = _SHARE, longest_s: float = math.inf) -> None:
        self.is_long = False
        self._share = share
        self._longest_s = longest_s
        self._next_s = 0.0

    @property
    def due_in_s(self) -> float:
        """Seconds until the next repetition; 0 for now."""
        return max(0.0, self._next_s - monotonic())

    @property
    def is_due(self) -> bool:
        """Whether the next repetition is due."""
        return self.due_in_s <= 0

    def took(self, seconds: float) -> None:
        """Record the duration of a repetition that has just ended."""
        self.is_long = seconds > _LONG_S
        self._next_s = monotonic() + min(self._longest_s, seconds / self._share)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Record the duration of the block, even if it raises."""
        started = monotonic()
        try:
            yield
        finally:
            self.took(monotonic() - started)

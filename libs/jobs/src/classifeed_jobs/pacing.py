"""Duty cycle: how often something is done whose cost grows with what a long-running transaction leaves behind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

_SHARE: Final = 0.05
_LONG_S: Final = 0.003


class DutyCycle:
    """Spaces what may have become costly so that it takes a small share of the time at most.

    Cheap things are hardly held back by it: what took a millisecond may be done again after twenty.

    Args:
        share: of the time, at most.
        longest_s: do it again after so long whatever it costs.

    Attributes:
        is_long: it took more than 3 ms the last time.
    """

    def __init__(self, share: float = _SHARE, longest_s: float = math.inf) -> None:
        self.is_long = False
        self._share = share
        self._longest_s = longest_s
        self._next_s = 0.0

    @property
    def due_in_s(self) -> float:
        """Seconds until it may be done again; 0: now."""
        return max(0.0, self._next_s - monotonic())

    @property
    def is_due(self) -> bool:
        """Whether it may be done now."""
        return self.due_in_s <= 0

    def took(self, seconds: float) -> None:
        """Take note of what it cost, just after it was done."""
        self.is_long = seconds > _LONG_S
        self._next_s = monotonic() + min(self._longest_s, seconds / self._share)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Take note of what the block costs, also when it fails."""
        started = monotonic()
        try:
            yield
        finally:
            self.took(monotonic() - started)

"""Duty cycle: pauses as a multiple of the time that the work took, which limit the work's share of the time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from classifeed_common.pacing.waiting import wait_for_event

GATHER_TIMES: Final = 3.0
_TIMES: Final = 20.0
_LONG_S: Final = 0.003


class DutyCycle:
    """Spaces repetitions of some work, so that it takes a small share of the time.

    Cheap work is hardly delayed: work that took a millisecond may be repeated after twenty.

    Args:
        times: pause as a multiple of the duration; 20: the work takes 5 % of the time.
        shortest_s: shortest pause, in seconds.
        longest_s: longest pause, in seconds.
        long_s: duration above which a repetition is long, in seconds; None: 3 ms.
        clock_s: monotonic clock; None: the system's.

    Attributes:
        is_long: whether the last repetition was long.
    """

    def __init__(
        self,
        times: float = _TIMES,
        *,
        shortest_s: float = 0.0,
        longest_s: float = math.inf,
        long_s: float | None = None,
        clock_s: Callable[[], float] | None = None,
    ) -> None:
        self.is_long = False
        self._times = times
        self._shortest_s = shortest_s
        self._longest_s = longest_s
        self._long_s = long_s
        self._clock_s = clock_s
        self._next_s = 0.0

    @property
    def due_in_s(self) -> float:
        """Seconds until the next repetition; 0 for now."""
        return max(0.0, self._next_s - self._now_s())

    @property
    def is_due(self) -> bool:
        """Whether the next repetition is due."""
        return self.due_in_s <= 0

    def took(self, seconds: float) -> None:
        """Record the duration of a repetition that has just ended."""
        self.is_long = seconds > (_LONG_S if self._long_s is None else self._long_s)
        self._next_s = self._now_s() + min(self._longest_s, max(self._shortest_s, self._times * seconds))

    def _now_s(self) -> float:
        return monotonic() if self._clock_s is None else self._clock_s()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Record the duration of the block, even if it raises."""
        started_s = self._now_s()
        try:
            yield
        finally:
            self.took(self._now_s() - started_s)


async def gather_records(since_s: float, ends: asyncio.Event, *, longest_s: float, times: float = GATHER_TIMES) -> None:
    """Linger after a transaction with a high fixed cost, to collect records for the next one.

    A record after a quiet moment does not wait.

    Args:
        since_s: start of the transaction, by the monotonic clock.
        ends: event that ends the pause.
        longest_s: upper bound of the pause, in seconds.
        times: pause as a multiple of the transaction's duration; higher if each transaction causes work for others.
    """
    await wait_for_event(ends, min(longest_s, times * (monotonic() - since_s)))

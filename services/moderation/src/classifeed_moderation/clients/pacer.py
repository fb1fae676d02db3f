"""Pacer: spreads requests, so that no more than a number a second begin."""

from __future__ import annotations

from classifeed_common.clock import Clock


class Pacer:
    """Lets `rate_s` callers a second go on, in the order in which they come. For one event loop."""

    def __init__(self, clock: Clock, rate_s: float) -> None:
        self._clock = clock
        self._interval_s = 1 / rate_s
        self._next_s = 0.0

    async def wait(self, count: int = 1) -> None:
        """Return when this caller may go on, who counts as so many."""
        now_s = self._clock.monotonic_s()
        at_s = max(self._next_s, now_s)
        self._next_s = at_s + self._interval_s * count
        if at_s > now_s:
            await self._clock.sleep(at_s - now_s)

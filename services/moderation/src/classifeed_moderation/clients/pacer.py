"""Pacer: rate limiter that spreads requests evenly."""

from __future__ import annotations

from classifeed_common.clock import Clock


class Pacer:
    """Admits `rate_s` callers per second, in their order. For one event loop."""

    def __init__(self, clock: Clock, rate_s: float) -> None:
        self._clock = clock
        self._interval_s = 1 / rate_s
        self._next_s = 0.0

    async def wait(self, count: int = 1) -> None:
        """Return once this caller is admitted; it counts as `count` callers."""
        now_s = self._clock.monotonic_s()
        at_s = max(self._next_s, now_s)
        self._next_s = at_s + self._interval_s * count
        if at_s > now_s:
            await self._clock.sleep(at_s - now_s)

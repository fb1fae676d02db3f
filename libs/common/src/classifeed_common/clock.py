"""Clocks for use inside one process. Processes that must agree on a time use the database's clock."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol


def stamp(zone: tzinfo = UTC) -> str:
    """Return the present time in the format of logs and metric files: ISO 8601 to the microsecond, UTC as `Z`."""
    return datetime.now(zone).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Clock(Protocol):
    """Time as this process sees it."""

    def now(self) -> datetime:
        """Return the wall time in UTC; it may jump."""

    def monotonic_s(self) -> float:
        """Return seconds since a fixed point; never decreases."""

    async def sleep(self, duration_s: float) -> None:
        """Return once `duration_s` seconds have passed."""


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        """Return the wall time in UTC; it may jump."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Return seconds since a fixed point; never decreases."""
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        """Return once `duration_s` seconds have passed."""
        await asyncio.sleep(duration_s)


class FakeClock:
    """A clock for tests: `advance` moves it, and wakes sleepers in the order of their times."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """Return the start plus the advanced time."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic_s(self) -> float:
        """Return the seconds advanced."""
        return self._elapsed_s

    async def sleep(self, duration_s: float) -> None:
        """Return once the test has advanced the clock by `duration_s`."""
        if duration_s <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + duration_s, next(self._order), woken))
        await woken

    async def advance(self, duration_s: float) -> None:
        """Move the clock; each sleeper runs at its own time, in order."""
        end_s = self._elapsed_s + duration_s
        while self._sleepers and self._sleepers[0][0] <= end_s:
            self._elapsed_s, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
            await asyncio.sleep(0)
        self._elapsed_s = end_s
        await asyncio.sleep(0)

"""Durations of recoveries: printed but not asserted, because machines differ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

RECOVERY_LIMIT_S: Final = 120.0
"""Seconds that a test waits for a recovery that is promised within 30 s: its machine may be much slower, and shared."""


class Stopwatch:
    """Measures from its creation; run pytest with -s to see the result."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began_s = time.monotonic()

    def stop(self) -> float:
        """Print the elapsed seconds, and return them."""
        passed_s = time.monotonic() - self._began_s
        print(f"recovery: {self._what}: {passed_s:.1f} s")  # noqa: T201 - for people who measure
        return passed_s


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = RECOVERY_LIMIT_S) -> None:
    """Return once the condition is true.

    Raises:
        TimeoutError: it did not become true in time.
    """
    async with asyncio.timeout(within_s):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.05)

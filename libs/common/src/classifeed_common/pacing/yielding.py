"""Cooperative long work in the event loop, in pieces, so that short requests do not wait for all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# Another request returns to the event loop some ten times, and each time waits for one piece of each long work.
_YIELD_INTERVAL_S: Final = 0.005


class Yielder:
    """Lets other coroutines run between the pieces of long work."""

    def __init__(self) -> None:
        self._until_s = time.perf_counter() + _YIELD_INTERVAL_S

    async def yield_if_due(self) -> None:
        """Let other coroutines run if the last time was more than 5 ms ago."""
        if time.perf_counter() >= self._until_s:
            await asyncio.sleep(0)
            self._until_s = time.perf_counter() + _YIELD_INTERVAL_S


async def map_yielding(function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return the results of `function` for all `items`, in order; other coroutines run meanwhile."""
    yielder = Yielder()
    results: list[B] = []
    for item in items:
        results.append(function(item))
        await yielder.yield_if_due()
    return results

"""Long work in the event loop, a piece at a time, so that whoever sent little does not wait for all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# A request of a neighbour comes back to the event loop some ten times; each time it waits for one piece of each work.
_YIELD_INTERVAL_S: Final = 0.005


class Yielder:
    """Lets other coroutines run between the pieces of a long work."""

    def __init__(self) -> None:
        self._until_s = time.perf_counter() + _YIELD_INTERVAL_S

    async def yield_if_due(self) -> None:
        """Let the others run if the last time is more than 5 ms ago; else return at once."""
        if time.perf_counter() >= self._until_s:
            await asyncio.sleep(0)
            self._until_s = time.perf_counter() + _YIELD_INTERVAL_S


async def map_yielding(function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return what `function` returns for each of `items`, in their order; the others run meanwhile."""
    yielder = Yielder()
    results: list[B] = []
    for item in items:
        results.append(function(item))
        await yielder.yield_if_due()
    return results

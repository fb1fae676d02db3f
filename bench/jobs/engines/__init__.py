"""One module for each side; each has a class `Engine` of the same shape."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Started = Callable[[int], None]


class Engine(Protocol):
    """One side, over one empty database.

    Attributes:
        knobs: how it is tuned, in words.
    """

    knobs: str

    async def open(self, dsn: str) -> None:
        """Connect, and make its tables where they are missing."""

    async def close(self) -> None:
        """Release everything."""

    async def fill(self, count: int) -> None:
        """Enqueue no-op jobs, by its own fastest way."""

    async def enqueue(self, number: int) -> None:
        """Enqueue one job, in a transaction of its own."""

    async def drain(self, count: int, batch: int) -> None:
        """Start a worker and return once `count` jobs have run and are written down as ended."""

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        """Run a worker while `body` runs; `started` receives the number of each job as it begins, 0 for a no-op."""


def load(name: str) -> Engine:
    """Return the engine of that name."""
    engine: Engine = importlib.import_module(f"bench.jobs.engines.{name}").Engine()
    return engine

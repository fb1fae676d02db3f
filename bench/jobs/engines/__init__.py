"""The measured engines: one module each, with a class `Engine` of the same interface."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Started = Callable[[int], None]


class Engine(Protocol):
    """A job engine on an empty database.

    Attributes:
        knobs: description of its tuning.
    """

    knobs: str

    async def open(self, dsn: str) -> None:
        """Connect, and create missing tables."""

    async def close(self) -> None:
        """Release everything."""

    async def fill(self, count: int) -> None:
        """Enqueue no-op jobs in the engine's fastest way."""

    async def enqueue(self, number: int) -> None:
        """Enqueue one job in one transaction."""

    async def drain(self, count: int, batch: int) -> None:
        """Start a worker and return once `count` jobs have run and are recorded as finished."""

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        """Run a worker while `body` runs; `started` gets the number of each job that starts, 0 for a no-op."""


def load(name: str) -> Engine:
    """Return the engine of that name."""
    engine: Engine = importlib.import_module(f"bench.jobs.engines.{name}").Engine()
    return engine

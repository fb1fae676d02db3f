"""What runs beside a block of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Protocol


class Runs(Protocol):
    """A worker, a consumer, a relay: what works until it is stopped."""

    def run(self, stop: asyncio.Event, /) -> Awaitable[None]:
        """Work until `stop` is set."""


@asynccontextmanager
async def running(role: Runs) -> AsyncIterator[None]:
    """Run it beside the block; leaving the block stops it, and raises what it raised."""
    stop = asyncio.Event()
    task = asyncio.ensure_future(role.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task

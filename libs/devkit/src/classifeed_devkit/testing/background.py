"""Roles that run in the background of a test's block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Protocol


class Runs(Protocol):
    """A worker, consumer or relay that works until it is stopped."""

    def run(self, stop: asyncio.Event, /) -> Awaitable[None]:
        """Work until `stop` is set."""


@asynccontextmanager
async def running(role: Runs) -> AsyncIterator[None]:
    """Run a role during the block; the end of the block stops it and raises its error."""
    stop = asyncio.Event()
    task = asyncio.ensure_future(role.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task

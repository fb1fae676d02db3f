"""Wakes readers of a client's queues when this process has committed elements into them."""

from __future__ import annotations

import asyncio
from collections import defaultdict


class CommitSignal:
    """Counts commits by client. A reader gets the count, reads, and waits for a higher count: it misses no commit."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def count(self, client: str) -> int:
        """Return the number of commits for a client."""
        return self._counts[client]

    def notify(self, client: str) -> None:
        """Wake the readers that wait for the client."""
        self._counts[client] += 1
        self._events.pop(client, asyncio.Event()).set()

    async def wait(self, client: str, seen: int, limit_s: float) -> None:
        """Return once the count exceeds `seen`, or after `limit_s` seconds."""
        if self._counts[client] > seen:
            return
        event = self._events[client]
        try:
            async with asyncio.timeout(limit_s):
                await event.wait()
        except TimeoutError:
            return

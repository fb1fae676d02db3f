"""Wakes readers of a client's queues when this process has committed something into them."""

from __future__ import annotations

import asyncio
from collections import defaultdict


class CommitSignal:
    """Counts commits by client. A reader notes the count, reads, and waits for it to grow: no commit is missed."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def count(self, client: str) -> int:
        """Return how often something was committed."""
        return self._counts[client]

    def notify(self, client: str) -> None:
        """Wake whoever waits for the client."""
        self._counts[client] += 1
        self._events.pop(client, asyncio.Event()).set()

    async def wait(self, client: str, seen: int, limit_s: float) -> None:
        """Return when the count is above `seen`, or after `limit_s` seconds."""
        if self._counts[client] > seen:
            return
        event = self._events[client]
        try:
            async with asyncio.timeout(limit_s):
                await event.wait()
        except TimeoutError:
            return

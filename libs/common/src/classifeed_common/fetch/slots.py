"""HostSlots: so many downloads from one host at a time, first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class _Slots:
    def __init__(self, size: int) -> None:
        self.free = asyncio.Semaphore(size)
        self.users = 0


class HostSlots:
    """Semaphores by host. One exists only while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._slots: dict[tuple[str, int], _Slots] = {}

    def __len__(self) -> int:
        return len(self._slots)

    @asynccontextmanager
    async def hold(self, host: str, size: int) -> AsyncIterator[None]:
        """Waits for one of the `size` slots of a host and holds it; another size has slots of its own."""
        slots = self._slots.setdefault((host, size), _Slots(size))
        slots.users += 1
        try:
            async with slots.free:
                yield
        finally:
            slots.users -= 1
            if not slots.users:
                del self._slots[host, size]

"""HostSlots: so many downloads from one host at a time, of each owner one, first come, first served."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext


class _Slots:
    def __init__(self, size: int) -> None:
        self.free = asyncio.Semaphore(size)
        self.users = 0
        self.owners: dict[str, asyncio.Lock] = {}
        self.users_of: Counter[str] = Counter()


class HostSlots:
    """Semaphores by host, and in them a lock for each owner. They exist only while somebody holds them or waits."""

    def __init__(self) -> None:
        self._slots: dict[tuple[str, int], _Slots] = {}

    def __len__(self) -> int:
        return len(self._slots)

    @asynccontextmanager
    async def hold(self, host: str, size: int, owner: str = "") -> AsyncIterator[None]:
        """Wait for one of the `size` slots of a host and holds it; another size has slots of its own.

        An owner has one of them at a time, so that a slow download keeps others of its owner waiting, and nobody else
        as long as there are slots. Those without an owner share the slots among themselves.
        """
        slots = self._slots.setdefault((host, size), _Slots(size))
        slots.users += 1
        slots.users_of[owner] += 1
        try:
            async with slots.owners.setdefault(owner, asyncio.Lock()) if owner else nullcontext(), slots.free:
                yield
        finally:
            slots.users -= 1
            slots.users_of[owner] -= 1
            if not slots.users_of[owner]:
                del slots.users_of[owner]
                slots.owners.pop(owner, None)
            if not slots.users:
                del self._slots[host, size]

"""Slots: how many jobs of a queue a process claims, and how many of them it runs at once."""

from __future__ import annotations

import asyncio
from typing import Final

_SHORT_RUN_S: Final = 0.1
_PATIENCE_S: Final = 0.5


class Slots:
    """The room of one queue in one process.

    While runs are short, jobs may be claimed ahead of a free slot, so that a slot never waits for a claim. One that
    gets no slot within half a second goes back, and nothing more is claimed ahead until runs are short again.

    Args:
        concurrency: how many run at once.
        prefetch: how many more may be claimed, as a multiple of the concurrency.
    """

    def __init__(self, concurrency: int, prefetch: float) -> None:
        self._concurrency = concurrency
        self._ahead = int(concurrency * prefetch)
        self._free = asyncio.Semaphore(concurrency)
        self._claimed = 0
        self._is_quick = False

    @property
    def room(self) -> int:
        """How many more jobs may be claimed now."""
        return self._concurrency + (self._ahead if self._is_quick else 0) - self._claimed

    def claimed(self) -> None:
        """A job was claimed; `ended` follows, whatever becomes of it."""
        self._claimed += 1

    async def enter(self) -> bool:
        """Wait for a slot; False: there was none in time, the job should go back."""
        if not self._free.locked():
            await self._free.acquire()
            return True
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._free.acquire()
        except TimeoutError:
            self._is_quick = False
            return False
        return True

    def leave(self, ran_s: float) -> None:
        """Give the slot back after a run of so many seconds."""
        self._is_quick = ran_s < _SHORT_RUN_S
        self._free.release()

    def ended(self) -> None:
        """A claimed job is not this queue's any more."""
        self._claimed -= 1

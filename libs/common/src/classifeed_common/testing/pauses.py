"""Pauses in which records gather, held until a test ends them: nobody sleeps to see what came together."""

from __future__ import annotations

import asyncio
from types import ModuleType

import pytest


class HeldPauses:
    """Pauses of a module that imports `gather_records`.

    Attributes:
        begun: set once a pause has begun.
        count: how many have begun.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.begun = asyncio.Event()
        self.count = 0
        self._ended = asyncio.Event()
        monkeypatch.setattr(module, "gather_records", self._hold)

    def end(self) -> None:
        """End the pause, and those that come."""
        self._ended.set()

    async def _hold(self, _since_s: float, ends: asyncio.Event, **_: float) -> None:
        self.count += 1
        self.begun.set()
        waits = [asyncio.ensure_future(each.wait()) for each in (ends, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

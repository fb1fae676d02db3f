"""Lingers that last until a test ends them, so that no test sleeps to see which records came together."""

from __future__ import annotations

import asyncio
from types import ModuleType

import pytest


class HeldPauses:
    """The lingers of a module that imports `gather_records`.

    Attributes:
        begun: event that is set once a linger has begun.
        count: number of lingers so far.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.begun = asyncio.Event()
        self.count = 0
        self._ended = asyncio.Event()
        monkeypatch.setattr(module, "gather_records", self._hold)

    def end(self) -> None:
        """End the linger under way, and all later ones at once."""
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

"""Pauses in which records gather, held until a test ends them: nobody sleeps to see what came together."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Final

import pytest

from classifeed_common.waiting import wait_for_event

_HELD_S: Final = 7_777.0


class HeldPauses:
    """Pauses of a module that imports `pause_after` and `wait_for_event`.

    Attributes:
        begun: set once a pause has begun.
        count: how many have begun.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.begun = asyncio.Event()
        self.count = 0
        self._ended = asyncio.Event()
        monkeypatch.setattr(module, "pause_after", lambda _took_s, **_: _HELD_S)
        monkeypatch.setattr(module, "wait_for_event", self._wait)

    def end(self) -> None:
        """End the pause, and those that come."""
        self._ended.set()

    async def _wait(self, event: asyncio.Event, limit_s: float) -> None:
        if limit_s != _HELD_S:
            await wait_for_event(event, limit_s)
            return
        self.count += 1
        self.begun.set()
        waits = [asyncio.ensure_future(each.wait()) for each in (event, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

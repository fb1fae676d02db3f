"""Asks the dependencies again and again whether they are there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

CHECK_TIMEOUT_S: Final = 3.0
UNREADY_INTERVAL_S: Final = 0.25
READY_INTERVAL_S: Final = 3.0

_log = structlog.get_logger("runner")

Check = Callable[[], Awaitable[None]]


class Readiness:
    """State of each dependency; ready when all are there.

    Args:
        checks: by name; each returns when its dependency answers and raises otherwise.
        on_change: told whether all are there, after each round.
    """

    def __init__(self, checks: Mapping[str, Check], on_change: Callable[[bool], None]) -> None:
        self._checks = checks
        self._on_change = on_change
        self.faults: dict[str, str] = dict.fromkeys(checks, "not checked yet")

    async def check(self) -> bool:
        """Asks all at once and returns whether all answered."""
        found = await asyncio.gather(*(self._ask(name) for name in self._checks))
        for name, fault in zip(self._checks, found, strict=True):
            self._note(name, fault)
        ready = not self.faults
        self._on_change(ready)
        return ready

    async def watch(self, stop: asyncio.Event) -> None:
        """Checks until `stop` is set; sooner again while something is missing."""
        while not stop.is_set():
            ready = await self.check()
            try:
                await asyncio.wait_for(stop.wait(), READY_INTERVAL_S if ready else UNREADY_INTERVAL_S)
            except TimeoutError:
                continue

    async def _ask(self, name: str) -> str | None:
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                await self._checks[name]()
        except TimeoutError:
            return f"no answer within {CHECK_TIMEOUT_S:g} s"
        except Exception as error:  # noqa: BLE001 any failure of a check means: not there
            return f"{type(error).__name__}: {error}".strip()
        return None

    def _note(self, name: str, fault: str | None) -> None:
        before = self.faults.get(name)
        if fault is None:
            self.faults.pop(name, None)
            if before is not None:
                _log.info("dependency is there", dependency=name)
        else:
            self.faults[name] = fault
            if before != fault:
                _log.warning("dependency is missing", dependency=name, fault=fault)

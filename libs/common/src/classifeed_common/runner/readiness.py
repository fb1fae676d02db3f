"""Readiness: repeated checks of the dependencies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import structlog

from classifeed_common.errors import name_fault
from classifeed_common.pacing.waiting import wait_for_event

CHECK_TIMEOUT_S: Final = 3.0
UNREADY_INTERVAL_S: Final = 0.25
READY_INTERVAL_S: Final = 3.0
_ABANDON_S: Final = 30.0

_log = structlog.get_logger("runner")

Check = Callable[[], Awaitable[None]]


class Since:
    """Remembers since when each name has been noted without a gap."""

    def __init__(self) -> None:
        self._began: dict[str, str] = {}

    def note(self, names: Iterable[str]) -> None:
        """Record the present names; names that are missing now are forgotten."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._began = {name: self._began.get(name, now) for name in names}

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the start times of those names that are noted."""
        return {name: self._began[name] for name in names if name in self._began}


class Readiness:
    """The state of each dependency; ready when all are available.

    Args:
        checks: checks by name; each returns if its dependency responds, and raises otherwise.
        on_change: called after each round with whether all are available.
    """

    def __init__(self, checks: Mapping[str, Check], on_change: Callable[[bool], None]) -> None:
        self._checks = checks
        self._on_change = on_change
        self._asking: dict[str, tuple[asyncio.Future[None], float]] = {}
        self._since = Since()
        self.faults: dict[str, str] = dict.fromkeys(checks, "not checked yet")
        self._since.note(self.faults)

    @property
    def missing_since(self) -> dict[str, str]:
        """Time since which each dependency has been missing, by name; ISO 8601 in UTC, to the second."""
        return self._since.of(self.faults)

    async def check(self) -> bool:
        """Run all checks at once, and return whether all passed."""
        found = await asyncio.gather(*(self._ask(name) for name in self._checks))
        for name, fault in zip(self._checks, found, strict=True):
            self._note(name, fault)
        self._since.note(self.faults)
        ready = not self.faults
        self._on_change(ready)
        return ready

    def note(self, name: str, fault: str | None) -> None:
        """Record the fault of a dependency that is not open yet; None: it is open."""
        self._note(name, fault)
        self._since.note(self.faults)

    async def watch(self, stop: asyncio.Event) -> None:
        """Run checks until `stop` is set, more often while a dependency is missing."""
        try:
            while not stop.is_set():
                ready = await self.check()
                await wait_for_event(stop, READY_INTERVAL_S if ready else UNREADY_INTERVAL_S)
        finally:
            for asking, _ in self._asking.values():
                asking.cancel()

    async def _ask(self, name: str) -> str | None:
        # A check that takes too long is not cancelled at once, because that may take as long again. Its result is
        # polled in the next round. So a missing dependency is known soon, and only one check at a time holds a
        # connection.
        now_s = asyncio.get_running_loop().time()
        if name not in self._asking:
            self._asking[name] = (asyncio.ensure_future(self._checks[name]()), now_s)
        asking, since_s = self._asking[name]
        await asyncio.wait([asking], timeout=CHECK_TIMEOUT_S)
        if not asking.done():
            if now_s - since_s >= _ABANDON_S:
                asking.cancel()
                del self._asking[name]
            return f"no response within {CHECK_TIMEOUT_S:g} s"
        del self._asking[name]
        try:
            asking.result()
        except Exception as error:  # noqa: BLE001 any failure of a check means that the dependency is missing
            return name_fault(error)
        return None

    def _note(self, name: str, fault: str | None) -> None:
        before = self.faults.get(name)
        if fault is None:
            self.faults.pop(name, None)
            if before is not None:
                _log.info("runner.dependency.available", dependency=name)
        else:
            self.faults[name] = fault
            if before != fault:
                _log.warning("runner.dependency.missing", dependency=name, fault=fault)

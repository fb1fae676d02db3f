"""Probes the dependencies again and again whether they are there."""

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
    """Since when something has been so: the same moment however often it is read, until it was otherwise between."""

    def __init__(self) -> None:
        self._began: dict[str, str] = {}

    def note(self, names: Iterable[str]) -> None:
        """Take what is so now; what is not among it any more is forgotten."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._began = {name: self._began.get(name, now) for name in names}

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """Return since when each has been so, of those that were noted."""
        return {name: self._began[name] for name in names if name in self._began}


class Readiness:
    """State of each dependency; ready when all are there.

    Args:
        checks: by name; each returns when its dependency responds and raises otherwise.
        on_change: called with whether all are there, after each round.
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
        """When each dependency that is missing now was first missed, by name; ISO 8601 in UTC, to the second."""
        return self._since.of(self.faults)

    async def check(self) -> bool:
        """Ask all at once and return whether all responded."""
        found = await asyncio.gather(*(self._ask(name) for name in self._checks))
        for name, fault in zip(self._checks, found, strict=True):
            self._note(name, fault)
        self._since.note(self.faults)
        ready = not self.faults
        self._on_change(ready)
        return ready

    def note(self, name: str, fault: str | None) -> None:
        """Note what is wrong with a dependency before it is open; None: it is."""
        self._note(name, fault)
        self._since.note(self.faults)

    async def watch(self, stop: asyncio.Event) -> None:
        """Check until `stop` is set; sooner again while something is missing."""
        try:
            while not stop.is_set():
                ready = await self.check()
                await wait_for_event(stop, READY_INTERVAL_S if ready else UNREADY_INTERVAL_S)
        finally:
            for asking, _ in self._asking.values():
                asking.cancel()

    async def _ask(self, name: str) -> str | None:
        # A check that takes too long is not cancelled at once, which may take as long again, but polled for its outcome
        # next time: what is missing is known soon, and no more than one check holds a connection.
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
        except Exception as error:  # noqa: BLE001 any failure of a check means: not there
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

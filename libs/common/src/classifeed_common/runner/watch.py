"""Watch: looks now and then at what a service cannot go on with, for readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from classifeed_common.db import is_passing_fault
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.waiting import wait_for_event

_log = structlog.get_logger("runner")


class Watch:
    """Remembers the last look, so that `blocked` returns from memory (`Role.blocked`).

    Args:
        look: reads the tables and returns what is blocked, and why, in words that name the fix. Passing faults are
            retried; what was found before stands as long as they last.
        period_s: from one look to the next, in seconds.
    """

    def __init__(self, look: Callable[[], Awaitable[Mapping[str, str]]], *, period_s: float = 15.0) -> None:
        self._look = look
        self._period_s = period_s
        self._found: Mapping[str, str] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set."""
        while not stop.is_set():
            try:
                found = await self._look()
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                log_fault(_log, "runner.watch.failed", error, retry_in_s=self._period_s)
            else:
                if found != self._found and found:
                    _log.warning("runner.watch.blocked", found=dict(found))
                self._found = found
            await wait_for_event(stop, self._period_s)

    def blocked(self) -> Mapping[str, str]:
        """Return what the last look found."""
        return self._found

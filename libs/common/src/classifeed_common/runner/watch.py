"""Watch: looks now and then at what a service cannot go on with, for readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from classifeed_common.clock import Clock
from classifeed_common.pacing.repeating import RepeatedWork

_log = structlog.get_logger("runner")


class Watch:
    """Remembers the last look, so that `blocked` returns from memory (`Role.blocked`).

    What was found before stands as long as looking fails; that is then named beside it.

    Args:
        look: reads the tables and returns what is blocked, and why, in words that name the fix.
        what: is looked at, as the object of a sentence, such as "texts that wait".
        period_s: from one look to the next, in seconds.
        clock: of the process; None: the machine's.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        what: str,
        period_s: float = 15.0,
        clock: Clock | None = None,
    ) -> None:
        self._look = look
        self._found: Mapping[str, str] = {}
        self._work = RepeatedWork(
            self._look_once,
            period_s=period_s,
            name=what,
            doing=f"reading {what}",
            effect="What is shown of them is as of the last success",
            clock=clock,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set."""
        await self._work.run(stop)

    def blocked(self) -> Mapping[str, str]:
        """Return what the last look found, and why there is no later one."""
        return {**self._found, **self._work.blocked()}

    async def _look_once(self) -> None:
        found = await self._look()
        if found != self._found and found:
            _log.warning("runner.watch.blocked", found=dict(found))
        self._found = found

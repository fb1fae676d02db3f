"""Watch: checks periodically for blocked work, for readiness."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import structlog

from classifeed_common.clock import Clock
from classifeed_common.loops import Loop, Looping

_log = structlog.get_logger("runner")


class Watch(Looping):
    """Remembers the result of the last check, so that `blocked` returns from memory (`Role.blocked`).

    While checks fail, the last result stays, and the failure is reported in addition.

    Args:
        look: reads the tables and returns blocked items and the reasons, each with the fix.
        what: checked items, as the object of a sentence, such as "texts that wait".
        period_s: seconds between two checks.
        clock: clock of the fault's duration; None: the system's.
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
        self.loop = Loop(
            self._look_once,
            period_s=period_s,
            name=what,
            doing=f"reading {what}",
            effect="The list shown is from the last successful read",
            clock=clock,
        )

    def blocked(self) -> Mapping[str, str]:
        """Return the result of the last check, and the fault of later ones."""
        return {**self._found, **self.loop.blocked()}

    async def _look_once(self) -> None:
        found = await self._look()
        if found != self._found and found:
            _log.warning("runner.watch.blocked", found=dict(found))
        self._found = found

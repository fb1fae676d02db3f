"""RepeatedWork: what is done at intervals until a service stops, whatever faults it meets; `blocked` names them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.fault_log import log_fault

_FIRST_PAUSE_S: Final = 1.0
_DOUBLINGS: Final = 20  # eleven days

_log = structlog.get_logger("runner")


class RepeatedWork:
    """Does some work every `period_s`, for `Role.run` and `Role.blocked`.

    Every fault is retried, after 1 s at first and then ever later, up to the period: nobody waits for this work, so the
    process, which does other work, is not ended for it, and one that passes is over before the next period.

    Args:
        work: does what is due; returns True where more may be due, so that it is called again at once.
        period_s: the pause between two rounds, in seconds.
        name: what is blocked while it fails, as an item of `Role.blocked`; also in the log.
        doing: what it does, as the subject of a sentence, such as "trimming queues".
        effect: what follows while it fails, a sentence without its full stop.
        clock: of the process; None: the machine's.
    """

    def __init__(
        self,
        work: Callable[[], Awaitable[object]],
        *,
        period_s: float,
        name: str,
        doing: str,
        effect: str,
        clock: Clock | None = None,
    ) -> None:
        self._work = work
        self._period_s = period_s
        self._name = name
        self._doing = doing
        self._effect = effect
        self._fault = LastingFault(clock)

    async def run(self, stop: asyncio.Event) -> None:
        """Do the work until `stop` is set."""
        while not stop.is_set():
            try:
                pause_s = 0.0 if await self._work() is True else self._period_s
            except Exception as error:  # noqa: BLE001 - whatever it is, the next round may succeed
                pause_s = min(self._period_s, _FIRST_PAUSE_S * 2 ** min(self._fault.attempts, _DOUBLINGS))
                log_fault(_log, "runner.work.failed", error, retry_in_s=pause_s, noted_in=self._fault, work=self._name)
            else:
                self._fault.clear()
            if pause_s:
                await wait_for_event(stop, pause_s)

    def blocked(self) -> Mapping[str, str]:
        """Return why the work fails, if it has failed for a while."""
        return self._fault.blocked(self._name, self._doing, self._effect)

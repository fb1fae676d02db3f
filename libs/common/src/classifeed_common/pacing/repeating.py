"""RepeatedWork: work repeated at intervals until a service stops; faults are retried and reported by `blocked`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.fault_log import log_fault

_FIRST_PAUSE_S: Final = 1.0

_log = structlog.get_logger("runner")


class RepeatedWork:
    """Repeats some work every `period_s`, for `Role.run` and `Role.blocked`.

    Every fault is retried, after 1 s at first, with pauses that grow up to the period. No caller waits for this work,
    so a fault must not end the process, and a passing fault is over before the next period.

    Args:
        work: function that does the due work; True means that more may be due, and it is called again at once.
        period_s: pause between two rounds, in seconds.
        name: name of the work, as an item of `Role.blocked` and in the log.
        doing: name of the activity, as the subject of a sentence, such as "trimming queues".
        effect: consequence of a failure, a sentence without its full stop.
        clock: clock of the fault's duration; None: the system's.
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
        """Repeat the work until `stop` is set."""
        backoff = Backoff(_FIRST_PAUSE_S, self._period_s)
        while not stop.is_set():
            try:
                pause_s = 0.0 if await self._work() is True else self._period_s
            except Exception as error:  # noqa: BLE001 - after any error the next round may succeed
                pause_s = backoff.next_s()
                log_fault(_log, "runner.work.failed", error, retry_in_s=pause_s, noted_in=self._fault, work=self._name)
            else:
                self._fault.clear()
                backoff.reset()
            if pause_s:
                await wait_for_event(stop, pause_s)

    def blocked(self) -> Mapping[str, str]:
        """Return why the work fails, once it has failed for a while."""
        return self._fault.blocked(self._name, self._doing, self._effect)

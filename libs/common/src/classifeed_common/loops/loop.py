"""Loop: repeats some work until a service stops; faults are retried, logged, and reported by `blocked`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.errors import DomainError
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.fault_log import log_fault

_FIRST_PAUSE_S: Final = 1.0

_log = structlog.get_logger("runner")


class Loop:
    """Repeats some work, for `Role.run` and `Role.blocked`.

    The result of the work decides the pause before the next round. True: more may be due, so there is none. A float:
    that many seconds. Anything else: `period_s`. `wake` ends a pause, but not the pause after a fault, so new work does
    not add load to a server that is ill.

    Every fault is retried. No caller waits for this work, so a fault must not end the process.

    Args:
        work: does the due work.
        period_s: pause between two rounds, in seconds.
        name: name of the work, as an item of `Role.blocked` and in the log.
        doing: name of the activity, as the subject of a sentence, such as "trimming queues".
        effect: consequence of a failure, a sentence without its full stop.
        backoff: pauses after faults; None: from 1 s up to the period. A fault with `retry_after_s` pauses as long.
        wake: event that ends a pause. It is cleared before each round, and set when the loop stops.
        on_fault: called with each fault before its pause. If it raises, the loop ends with that exception.
        event: name of the log event of a fault.
        clock: clock of the fault's duration; None: the system's.

    Attributes:
        doing: name of the activity, which the work may change.
        fault: present fault of the work.
        stopping: event that ends the loop, for pauses inside the work.
    """

    def __init__(
        self,
        work: Callable[[], Awaitable[object]],
        *,
        period_s: float,
        name: str,
        doing: str,
        effect: str,
        backoff: Backoff | None = None,
        wake: asyncio.Event | None = None,
        on_fault: Callable[[Exception], object] | None = None,
        event: str = "runner.work.failed",
        clock: Clock | None = None,
    ) -> None:
        self._work = work
        self._period_s = period_s
        self._name = name
        self.doing = doing
        self._effect = effect
        self._backoff = backoff or Backoff(_FIRST_PAUSE_S, period_s)
        self._wake = wake
        self._on_fault = on_fault
        self._event = event
        self.fault = LastingFault(clock)
        self.stopping = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Repeat the work until `stop` is set; the round under way is completed first."""
        self.stopping = stop
        self.note_success()
        stopped = asyncio.create_task(self._wake_at(stop, self._wake)) if self._wake is not None else None
        try:
            while not stop.is_set():
                await self._round(stop)
        finally:
            if stopped is not None:
                stopped.cancel()

    def blocked(self) -> Mapping[str, str]:
        """Return why the work fails, once it has failed for a while."""
        return self.fault.blocked(self._name, self.doing, self._effect)

    def note_success(self) -> None:
        """Forget earlier faults. The loop does so after each round; work of many steps may do so after each step."""
        self.fault.clear()
        self._backoff.reset()

    async def _round(self, stop: asyncio.Event) -> None:
        if self._wake is not None:
            self._wake.clear()
        try:
            found = await self._work()
        except Exception as error:  # noqa: BLE001 - after any error the next round may succeed
            if self._on_fault is not None:
                self._on_fault(error)
            pause_s = max(self._backoff.next_s(), (isinstance(error, DomainError) and error.retry_after_s) or 0.0)
            log_fault(_log, self._event, error, retry_in_s=pause_s, noted_in=self.fault, work=self._name)
            await wait_for_event(stop, pause_s)
        else:
            self.note_success()
            pause_s = 0.0 if found is True else found if isinstance(found, float) else self._period_s
            if pause_s:
                await wait_for_event(self._wake or stop, pause_s)
            else:
                await asyncio.sleep(0)  # other tasks run even if the work never waits

    @staticmethod
    async def _wake_at(stop: asyncio.Event, wake: asyncio.Event) -> None:
        await stop.wait()
        wake.set()


class Looping:
    """Base of a class whose work is one loop, which gives it `run` and `blocked` for its Role.

    Attributes:
        loop: the loop, a Loop or a LeasedLoop.
    """

    loop: Loop | Looping

    async def run(self, stop: asyncio.Event) -> None:
        """Repeat the work until `stop` is set; faults are retried."""
        await self.loop.run(stop)

    def blocked(self) -> Mapping[str, str]:
        """Return why the work fails, once it has failed for a while."""
        return self.loop.blocked()

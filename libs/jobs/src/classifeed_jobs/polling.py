"""Polling loop that continues after errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from classifeed_common.faults.lasting import LastingFault
from classifeed_common.pacing.waiting import wait_for_event

_LONGEST_AFTER_FAULT_S: Final = 1.0


async def poll_until(
    stop: asyncio.Event,
    poll: Callable[[], Awaitable[float]],
    *,
    period_s: float,
    fault: LastingFault,
    on_fault: Callable[[Exception, float], object],
) -> None:
    """Call `poll` until `stop` is set.

    Args:
        stop: Event that ends the loop between two calls.
        poll: Function that does the due work and returns the seconds until its next call.
        period_s: Seconds before the next call after an error, at most one second.
        fault: Fault that is cleared when `poll` succeeds.
        on_fault: Callback with the exception of `poll` and the seconds until its next call; it records `fault`.
    """
    while not stop.is_set():
        try:
            wait_s = await poll()
            fault.clear()
        except Exception as error:  # noqa: BLE001 - any error is retried
            wait_s = min(period_s, _LONGEST_AFTER_FAULT_S)
            on_fault(error, wait_s)
        await wait_for_event(stop, wait_s)

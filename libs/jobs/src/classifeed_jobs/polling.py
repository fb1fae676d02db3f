"""The loop of what acts now and then, and goes on after faults of any kind."""

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
        stop: is looked at between two calls; one under way is finished.
        poll: does what is due and returns the seconds until it is to be called again.
        period_s: the longest wait after a fault, up to a second.
        fault: is cleared once `poll` succeeds.
        on_fault: notes in `fault` what `poll` raised; it gets the seconds until the next call besides.
    """
    while not stop.is_set():
        try:
            wait_s = await poll()
            fault.clear()
        except Exception as error:  # noqa: BLE001 - a fault of any kind passes
            wait_s = min(period_s, _LONGEST_AFTER_FAULT_S)
            on_fault(error, wait_s)
        await wait_for_event(stop, wait_s)

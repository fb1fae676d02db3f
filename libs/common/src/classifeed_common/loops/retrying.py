"""retry: one call, repeated until it succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from classifeed_common.pacing.backoff import Backoff

T = TypeVar("T")


async def retry(
    call: Callable[[], Awaitable[T]], backoff: Backoff, on_fault: Callable[[Exception, float], object]
) -> T:
    """Return the result of `call` once it succeeds. `race` limits the wait.

    Args:
        call: call to repeat.
        backoff: pauses between two attempts.
        on_fault: called with each exception and the pause that follows, in seconds; it logs. If it raises, that is the
            outcome.
    """
    while True:
        try:
            return await call()
        except Exception as error:  # noqa: BLE001 - `on_fault` decides
            pause_s = backoff.next_s()
            on_fault(error, pause_s)
        await asyncio.sleep(pause_s)

"""Waiting that ends when its time is over, even where what is waited for needs a while to be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def wait_for_event(event: asyncio.Event, limit_s: float) -> None:
    """Return once the event is set, or after `limit_s` seconds.

    Not by `asyncio.wait_for`: before Python 3.12 it returns as if nothing was, if the task is cancelled as it ends.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await event.wait()


async def gather_within(limit_s: float, *awaitables: Awaitable[T]) -> list[T]:
    """Return what all return, in their order; raise what the first raises.

    What has not ended by then is cancelled and left alone: a statement on a dead connection takes seconds to end, and
    nobody shall wait for that.

    Raises:
        TimeoutError: not all have ended within `limit_s` seconds.
    """
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        _, late = await asyncio.wait(tasks, timeout=limit_s) if tasks else (set(), set())
        if late:
            raise TimeoutError(f"not within {limit_s:g} s")
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()

"""Waits with a timeout that holds even if a cancelled awaitable ends late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def wait_for_event(event: asyncio.Event, limit_s: float) -> None:
    """Return once the event is set, or after `limit_s` seconds.

    Does not use `asyncio.wait_for`, which before Python 3.12 loses a cancellation of the task at its end.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await event.wait()


async def gather_within(limit_s: float, *awaitables: Awaitable[T]) -> list[T]:
    """Return the results of all awaitables in order, or raise the exception of the first that fails.

    Late awaitables are cancelled but not awaited: a statement on a dead connection takes seconds to end.

    Raises:
        TimeoutError: some have not ended within `limit_s` seconds.
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

"""Waits that end in time, and cancellations that come at any moment."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from classifeed_common.pacing.waiting import wait_for_event


async def by_wait_for(event: asyncio.Event, limit_s: float) -> None:
    """Wait the naive way."""
    await asyncio.wait_for(event.wait(), limit_s)


async def count_lost(wait: Callable[[asyncio.Event, float], Coroutine[Any, Any, None]]) -> int:
    """Cancel a wait 0 to 5 steps after its event is set; return how many of these cancellations had no effect."""
    lost = 0
    for steps in range(6):
        event = asyncio.Event()
        task = asyncio.create_task(wait(event, 60.0))
        await asyncio.sleep(0.001)
        event.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.cancel():
            await asyncio.wait([task])
            lost += not task.cancelled()
    return lost


async def test_a_cancellation_counts_whenever_it_comes() -> None:
    assert await count_lost(wait_for_event) == 0


async def test_it_ends_with_its_event_and_at_its_limit() -> None:
    event = asyncio.Event()
    await wait_for_event(event, 0.001)
    assert not event.is_set()
    asyncio.get_running_loop().call_later(0.001, event.set)
    async with asyncio.timeout(60):
        await wait_for_event(event, 3600)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python has it right since then")
async def test_the_naive_way_loses_one() -> None:
    assert await count_lost(by_wait_for) > 0

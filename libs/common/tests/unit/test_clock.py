from __future__ import annotations

import asyncio
from datetime import timedelta

from classifeed_common.clock import FakeClock


async def test_sleepers_wake_in_order_when_their_time_is_passed() -> None:
    clock = FakeClock()
    began = clock.now()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, duration_s: float) -> None:
        await clock.sleep(duration_s)
        woken.append((name, clock.monotonic_s()))

    tasks = [asyncio.create_task(sleeper(name, s)) for name, s in (("late", 5), ("early", 2), ("never", 60))]
    await asyncio.sleep(0)
    await clock.advance(1)
    assert woken == []
    await clock.advance(10)
    assert woken == [("early", 2), ("late", 5)]
    assert clock.now() - began == timedelta(seconds=11)
    tasks[2].cancel()
    await clock.advance(100)
    assert len(woken) == 2

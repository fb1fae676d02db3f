"""race returns when the first work is done or the event is set; nothing of it runs on."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.loops import race


class Work:
    """A work that waits for `end`, and notes that it was cancelled."""

    def __init__(self) -> None:
        self.end = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self) -> str:
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return "done"


async def test_the_first_work_wins_and_the_others_are_cancelled() -> None:
    first, second = Work(), Work()
    first.end.set()
    won, lost = await race(asyncio.Event(), first(), second())
    assert won.result() == "done"
    assert lost.cancelled()


async def test_the_event_cancels_all() -> None:
    stop, work = asyncio.Event(), Work()
    racing = asyncio.create_task(race(stop, work()))
    await asyncio.sleep(0)
    stop.set()
    [lost] = await racing
    assert lost.cancelled()
    assert work.was_cancelled


async def test_an_error_is_the_result_of_its_task() -> None:
    async def fail() -> None:
        raise OSError("full")

    [failed] = await race(asyncio.Event(), fail())
    with pytest.raises(OSError, match="full"):
        failed.result()


async def test_a_cancelled_race_cancels_its_works() -> None:
    work = Work()
    racing = asyncio.create_task(race(asyncio.Event(), work()))
    for _ in range(3):
        await asyncio.sleep(0)
    racing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await racing
    assert work.was_cancelled

"""Long work in the event loop lets others run between its pieces."""

from __future__ import annotations

import asyncio
import time

import pytest

from classifeed_common.pacing import yielding


@pytest.mark.parametrize(
    ("item_s", "others"),
    [(0.006, [1, 2, 3, 4]), (0.0026, [0, 1, 1, 2]), (0.001, [0, 0, 0, 0])],
    ids=["long pieces", "two pieces a turn", "short work"],
)
async def test_others_run_between_pieces_of_five_milliseconds(
    monkeypatch: pytest.MonkeyPatch, item_s: float, others: list[int]
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now_s[0])
    ran = [0]

    async def run_others() -> None:
        while True:
            ran[0] += 1
            await asyncio.sleep(0)

    seen: list[int] = []

    def work(item: int) -> int:
        seen.append(ran[0])
        now_s[0] += item_s
        return item

    beside = asyncio.create_task(run_others())
    assert await yielding.map_yielding(work, range(5)) == [0, 1, 2, 3, 4]
    beside.cancel()
    assert seen[1:] == others

"""The cost of a count of the backlog, and when a cached count is used."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

import pytest

from classifeed_common.http.backlog import Backlog


class Source:
    """Waiting work of a role; counting it takes `took_s` by the test's clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, took_s: float, waiting: int) -> None:
        self.now_s, self.took_s, self.waiting, self.counts = 1000.0, took_s, waiting, 0
        monkeypatch.setattr("classifeed_common.http.backlog.time.monotonic", lambda: self.now_s)

    async def count(self) -> dict[str, int]:
        self.counts += 1
        self.now_s += self.took_s
        return {"rows": self.waiting}


@pytest.mark.parametrize(("took_s", "kept_s"), [(0.02, 2.0), (1.0, 5.0)])
async def test_a_count_that_took_long_stands_for_a_while(
    monkeypatch: pytest.MonkeyPatch, took_s: float, kept_s: float
) -> None:
    source = Source(monkeypatch, took_s, 40_000)
    counted = Backlog({"work": source.count})
    assert await counted.count() == {"work.rows": 40_000}
    source.waiting = 7
    source.now_s += kept_s - 0.01
    assert await counted.count() == {"work.rows": 40_000}
    source.now_s += 0.02
    assert await counted.count() == {"work.rows": 7}
    assert source.counts == 2


@pytest.mark.parametrize(("took_s", "waiting"), [(3.0, 0), (3.0, 999), (0.005, 40_000)])
async def test_few_and_what_was_counted_quickly_are_counted_each_time(
    monkeypatch: pytest.MonkeyPatch, took_s: float, waiting: int
) -> None:
    source = Source(monkeypatch, took_s, waiting)
    counted = Backlog({"work": source.count})
    assert await counted.count() == {"work.rows": waiting}
    source.waiting = 1
    assert await counted.count() == {"work.rows": 1}, "work that came since then must not be missed"


async def test_each_role_is_kept_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Source(monkeypatch, 0.0, 3)
    slow = Source(monkeypatch, 1.0, 5_000)  # both use its clock
    counted = Backlog({"slow": slow.count, "quick": quick.count})
    monkeypatch.setattr("classifeed_common.http.backlog.asyncio.gather", one_after_the_other)
    assert await counted.count() == {"slow.rows": 5_000, "quick.rows": 3}
    slow.waiting = quick.waiting = 9
    assert await counted.count() == {"slow.rows": 5_000, "quick.rows": 9}


async def one_after_the_other(*counts: Awaitable[Mapping[str, int]]) -> list[Mapping[str, int]]:
    return [await each for each in counts]

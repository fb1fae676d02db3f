"""LeasedWork: one process at a time works, and another one starts only after it has stopped."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.db import Database
from classifeed_common.lease import Lease, LeasedWork, Leases
from classifeed_common.lease import work as work_module


class Process:
    """A process whose work lasts until it is stopped; `stubborn` work ignores the stop."""

    def __init__(self, db: Database, holder: str, working: list[str], *, stubborn: bool = False) -> None:
        self.holder, self.working, self.stubborn = holder, working, stubborn
        self.begun, self.notified, self.stop = asyncio.Event(), asyncio.Event(), asyncio.Event()
        leased = LeasedWork(Leases(db, holder, ttl_s=600), "nightly", self.work, on_stop=self.notified.set)
        self.running = asyncio.create_task(leased.run(self.stop))

    async def work(self, lease: Lease, stopping: asyncio.Event) -> None:
        assert lease.holder == self.holder
        assert self.working == []
        self.working.append(self.holder)
        self.begun.set()
        try:
            await (asyncio.Event().wait() if self.stubborn else stopping.wait())
        finally:
            self.working.remove(self.holder)

    async def end(self) -> None:
        self.stop.set()
        await self.running


async def test_the_next_process_works_once_the_one_before_has_stopped(db: Database) -> None:
    working: list[str] = []
    first = Process(db, "a", working)
    async with asyncio.timeout(60):
        await first.begun.wait()
    second = Process(db, "b", working)
    await first.end()
    assert first.notified.is_set()
    async with asyncio.timeout(60):
        await second.begun.wait()
    assert working == ["b"]
    await second.end()
    assert working == []


async def test_work_that_does_not_stop_is_cancelled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_module, "_MAX_WAIT_S", 0)
    working: list[str] = []
    process = Process(db, "a", working, stubborn=True)
    async with asyncio.timeout(60):
        await process.begun.wait()
    async with asyncio.timeout(60):
        await process.end()
    assert working == []

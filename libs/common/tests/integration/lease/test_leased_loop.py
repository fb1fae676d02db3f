"""LeasedLoop: one process at a time works, and another one starts only after it has stopped."""

from __future__ import annotations

import asyncio

from classifeed_common.db import Database
from classifeed_common.lease import LeasedLoop, LeaseLost, Leases
from classifeed_common.loops import Loop
from classifeed_common.pacing.backoff import Backoff


class Process:
    """A process whose work lasts until it is stopped; `stubborn` work ignores the stop."""

    def __init__(
        self, db: Database, holder: str, working: list[str], *, stubborn: bool = False, grace_s: float = 60
    ) -> None:
        self.holder, self.working, self.stubborn = holder, working, stubborn
        self.begun, self.stop = asyncio.Event(), asyncio.Event()
        self.gained: list[str] = []
        loop = Loop(self.work, period_s=3600, name="nightly", doing="working", effect="Nothing is done")
        self.leased = LeasedLoop(
            Leases(db, holder, ttl_s=600),
            "nightly",
            loop,
            on_gain=lambda lease: self.gained.append(lease.holder),
            grace_s=grace_s,
        )
        self.running = asyncio.create_task(self.leased.run(self.stop))

    async def work(self) -> None:
        assert self.leased.lease.holder == self.holder
        assert self.gained == [self.holder]
        assert self.working == []
        self.working.append(self.holder)
        self.begun.set()
        try:
            await (asyncio.Event().wait() if self.stubborn else self.leased.stopping.wait())
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
    async with asyncio.timeout(60):
        await second.begun.wait()
    assert working == ["b"]
    await second.end()
    assert working == []


async def test_work_that_does_not_stop_is_cancelled(db: Database) -> None:
    working: list[str] = []
    process = Process(db, "a", working, stubborn=True, grace_s=0)
    async with asyncio.timeout(60):
        await process.begun.wait()
    async with asyncio.timeout(60):
        await process.end()
    assert working == []


async def test_a_round_whose_lease_expired_is_repeated_under_the_renewed_lease(db: Database) -> None:
    leases, rounds, stop = Leases(db, "a", ttl_s=600), 0, asyncio.Event()

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise LeaseLost(leased.lease)
        stop.set()

    loop = Loop(work, period_s=3600, name="n", doing="d", effect="e", backoff=Backoff(0.01, 0.01))
    leased = LeasedLoop(leases, "nightly", loop)
    async with asyncio.timeout(60):
        await leased.run(stop)
    assert rounds == 2

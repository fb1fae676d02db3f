"""Slots of a schedule while its last job is not complete."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_jobs import JobContext, Schedule, Scheduler, Schedules

from ..conftest import Bench, until

NAME = "slow"


class Clock:
    """A schedule whose slots are controlled by the test."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._scheduler = Scheduler(bench.db, bench.store)

    async def put(self, **options: Any) -> None:
        async with self._bench.db.transaction() as tx:
            given: dict[str, Any] = {"name": NAME, "queue": "q", "task": "slow", "every_s": 1_000_000}
            await Schedules().put(tx, Schedule(**given | options))

    async def tick(self, slots: int = 1) -> None:
        for _ in range(slots):
            # Each slot is an hour earlier than the previous one, so their idempotency keys differ.
            await self._bench.execute(
                "UPDATE dl_schedules SET grace_sec = 1000000, "
                "next_slot = coalesce(last_slot, now()) - interval '1 hour'"
            )
            assert await self._scheduler.make_due() == 1

    async def statuses(self) -> list[str]:
        rows = await self._bench.execute("SELECT status FROM dl_jobs_all WHERE task = 'slow' ORDER BY job_id")
        return [status for (status,) in rows]


@pytest.fixture
def clock(bench: Bench) -> Clock:
    return Clock(bench)


def _run_first(bench: Bench) -> asyncio.Event:
    """Register a task that waits for the event."""
    release = asyncio.Event()

    @bench.registry.register("slow")
    async def slow(ctx: JobContext, args: dict[str, Any]) -> None:
        await release.wait()

    return release


async def _is(clock: Clock, *expected: str) -> bool:
    return await clock.statuses() == list(expected)


async def test_one_job_waits_by_default(bench: Bench, clock: Clock) -> None:
    release = _run_first(bench)
    await clock.put()
    await clock.tick()
    async with bench.working(4):
        await until(lambda: _is(clock, "running"))
        await clock.tick(20)
        assert await clock.statuses() == ["running", "queued"]

        # The waiting job holds no slot of the worker.
        @bench.registry.register("noop")
        async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

        others = [await bench.enqueue() for _ in range(5)]
        assert await bench.ended(*others) == ["succeeded"] * 5
        assert await clock.statuses() == ["running", "queued"]
        release.set()
        await until(lambda: _is(clock, "succeeded", "succeeded"))
    await clock.tick()
    assert await clock.statuses() == ["succeeded", "succeeded", "queued"]


async def test_slot_is_skipped_while_the_last_job_runs(bench: Bench, clock: Clock) -> None:
    release = _run_first(bench)
    await clock.put(overlap="skip")
    await clock.tick(3)
    assert await clock.statuses() == ["queued"]
    async with bench.working(4):
        await until(lambda: _is(clock, "running"))
        await clock.tick(3)
        assert await clock.statuses() == ["running"]
        release.set()
        await until(lambda: _is(clock, "succeeded"))
        await clock.tick()
        await until(lambda: _is(clock, "succeeded", "succeeded"))


async def test_last_job_is_replaced(bench: Bench, clock: Clock) -> None:
    release = _run_first(bench)
    await clock.put(overlap="replace")
    await clock.tick(3)
    assert await clock.statuses() == ["canceled", "canceled", "queued"]
    async with bench.working(4):
        await until(lambda: _is(clock, "canceled", "canceled", "running"))
        await clock.tick()
        await until(lambda: _is(clock, "canceled", "canceled", "canceled", "running"))
        release.set()
        await until(lambda: _is(clock, "canceled", "canceled", "canceled", "succeeded"))


@pytest.mark.parametrize("options", [{"overlap": "queue_all"}, {"missed": "run_all"}])
async def test_each_slot_gets_its_job_where_that_is_requested(
    bench: Bench, clock: Clock, options: dict[str, Any]
) -> None:
    await clock.put(**options)
    await clock.tick()
    await clock.tick(4)
    assert len(await clock.statuses()) >= 5
    assert await bench.value("SELECT count(lock_key) FROM dl_jobs") == 0


def test_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap is skip, queue_one, queue_all or replace, not 'never'"):
        Schedule("s", "q", "t", every_s=1, overlap="never")  # type: ignore[arg-type]

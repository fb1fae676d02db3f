"""Each due source is fetched once per slot, oldest first, by any number of schedulers."""

from __future__ import annotations

import asyncio

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed_common.clock import FakeClock
from classifeed_common.db import Tx
from classifeed_common.lease import Lease, LeaseLost, Leases
from classifeed_devkit.testing.recovery import until
from classifeed_loader.app.schedule_fetches import FetchScheduler, schedule_due
from classifeed_loader.store import queueing

from ..conftest import Loader, MakeSource


async def end_fetches(loader: Loader) -> None:
    await loader.sql("UPDATE feed_fetches SET ended_at = clock_timestamp(), outcome = 4")


async def test_the_oldest_come_first(loader: Loader, source: MakeSource) -> None:
    names = ["late", "early", "never", "long-ago", "lately"]
    await loader.put(*(source(namespace=name) for name in names))
    for name, ago_s in (("late", 10), ("early", 90), ("never", 50), ("long-ago", 50), ("lately", 50)):
        await loader.make_due(name, ago_s=ago_s)
    # These have the same due time and differ in their last fetch only.
    await loader.sql(
        "UPDATE feed_loader_task SET next_due_at = (SELECT next_due_at FROM feed_loader_task WHERE namespace = 'never')"
        " WHERE namespace IN ('long-ago', 'lately')"
    )
    await loader.sql("UPDATE feed_loader_task SET last_fetched_at = now() WHERE namespace = 'lately'")
    await loader.sql("UPDATE feed_loader_task SET last_fetched_at = now() - interval '9h' WHERE namespace = 'long-ago'")
    assert await loader.schedule(limit=3) == 3
    assert await loader.schedule(limit=3) == 2
    order = [name.split("/")[3] for name in await loader.queued()]
    assert order == ["early", "never", "long-ago", "lately", "late"]


async def test_the_next_slot_is_an_interval_away_more_or_less(loader: Loader, source: MakeSource) -> None:
    names = [f"n{number}" for number in range(60)]
    await loader.put(
        *(source(namespace=name, interval_s=3600) for name in names), source(namespace="fast", interval_s=1)
    )
    assert await loader.schedule() == 61
    due = [await loader.due_in_s(name) for name in names]
    assert all(3120 <= seconds <= 3965 for seconds in due)
    assert max(due) - min(due) > 200
    assert await loader.due_in_s("fast") == pytest.approx(600, abs=120)


async def test_a_source_has_one_scheduled_fetch_at_a_time(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    assert await loader.schedule() == 1
    await loader.make_due()
    assert await loader.schedule() == 0
    # The slot is skipped, so the source does not block the others.
    assert await loader.due_in_s() > 3000
    requested = await loader.run(source())
    await end_fetches(loader)
    await loader.make_due()
    assert await loader.schedule() == 1
    assert len(await loader.fetches()) == 3
    assert requested.trigger == feed_pb2.FETCH_TRIGGER_REQUEST


async def test_a_slot_is_fetched_once(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    await loader.sql("UPDATE feed_loader_task SET next_due_at = '2026-01-01'")
    assert await loader.schedule() == 1
    await end_fetches(loader)
    await loader.sql("UPDATE feed_loader_task SET next_due_at = '2026-01-01'")
    assert await loader.schedule() == 0
    assert len(await loader.queued()) == 1


async def test_two_schedulers_at_once_queue_each_source_once(loader: Loader, source: MakeSource) -> None:
    names = [f"n{number}" for number in range(120)]
    await loader.put(*(source(namespace=name) for name in names))

    async def schedule() -> int:
        """Schedule without the guard of the lease."""
        queued = 0
        while True:
            async with loader.database.transaction() as tx:
                keys = await queueing.queue_due(tx, limit=7, min_interval_s=600)
                await asyncio.sleep(0)
            queued += len(keys)
            if not keys:
                return queued

    assert sum(await asyncio.gather(*(schedule() for _ in range(4)))) == 120
    counts = await loader.sql("SELECT count(*) FROM feed_fetches GROUP BY namespace")
    assert counts == [(1,)] * 120


async def test_a_source_that_somebody_holds_keeps_no_other_waiting(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(namespace="held"), source(namespace="free"))
    async with loader.database.transaction() as tx:
        await tx.execute("SELECT FROM feed_loader_task WHERE namespace = 'held' FOR UPDATE")
        async with asyncio.timeout(25):
            assert await loader.schedule() == 1
    assert await loader.schedule() == 1


async def test_without_the_lease_nothing_is_queued(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    leases, lease = await loader.lease()
    await loader.lease()
    with pytest.raises(LeaseLost):
        await schedule_due(loader.database, leases, loader.jobs, lease, min_interval_s=600)
    assert await loader.queued() == []


async def test_fetch_and_job_are_there_together_or_not_at_all(
    loader: Loader, source: MakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    await loader.put(source())
    due = await loader.due_in_s()

    async def broken(*_args: object) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(loader.jobs, "enqueue_many", broken)
    with pytest.raises(ConnectionError):
        await loader.schedule()
    assert await loader.fetches() == []
    assert await loader.due_in_s() <= due
    monkeypatch.undo()
    assert await loader.schedule() == 1


async def test_the_schedule_wakes_when_a_source_comes_and_when_one_is_due(
    loader: Loader, source: MakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_loader.app.schedule_fetches._LONGEST_PAUSE_S", 3600.0)
    scheduler = FetchScheduler(loader.database, loader.jobs, Leases(loader.database, "a", 60), min_interval_s=600)
    stop = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stop))

    async def until_queued(count: int) -> None:
        async with asyncio.timeout(120):
            while len(await loader.queued()) < count:
                await asyncio.sleep(0.02)

    async with asyncio.timeout(120):  # it sleeps, with the lease
        while not await loader.sql("SELECT 1 FROM leases WHERE fence > 0"):
            await asyncio.sleep(0.02)
    await loader.put(source())
    scheduler.wake()
    await until_queued(1)
    await loader.put(source(namespace="soon"))
    await loader.make_due("soon", ago_s=-1)
    [[due_at]] = await loader.sql("SELECT next_due_at FROM feed_loader_task WHERE namespace = 'soon'")
    scheduler.wake()
    await until_queued(2)
    [[queued_at]] = await loader.sql("SELECT max(created_at) FROM dl_jobs")
    assert queued_at >= due_at
    stop.set()
    await running
    assert await loader.sql("SELECT expires_at < clock_timestamp() FROM leases") == [(True,)]


async def test_the_schedule_goes_on_after_a_lease_that_ran_out_is_renewed(
    loader: Loader, source: MakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_loader.app.schedule_fetches._FAULT_PAUSE_S", 0.05)
    leases = Leases(loader.database, "a", 60)
    guard, faults = leases.guard, [LeaseLost, ConnectionError]

    async def fails_first(tx: Tx, lease: Lease) -> None:
        if faults:
            fault = faults.pop()
            raise LeaseLost(lease) if fault is LeaseLost else fault("away")
        await guard(tx, lease)

    monkeypatch.setattr(leases, "guard", fails_first)
    scheduler = FetchScheduler(loader.database, loader.jobs, leases, min_interval_s=600)
    stop = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stop))
    await loader.put(source())
    scheduler.wake()
    async with asyncio.timeout(120):
        while not await loader.queued():
            await asyncio.sleep(0.02)
    stop.set()
    await running
    assert faults == []


async def test_a_schedule_that_fails_is_named_until_it_goes_on(
    loader: Loader, source: MakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_loader.app.schedule_fetches._FAULT_PAUSE_S", 0.05)
    leases, clock, attempts = Leases(loader.database, "a", 60), FakeClock(), 0

    async def fail(*_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise ConnectionError("cut off")

    await loader.put(source())
    scheduler = FetchScheduler(loader.database, loader.jobs, leases, min_interval_s=600, clock=clock)
    stop = asyncio.Event()
    with monkeypatch.context() as patched:
        patched.setattr(leases, "guard", fail)
        running = asyncio.create_task(scheduler.run(stop))
        await until(lambda: attempts > 1)
        assert scheduler.blocked() == {}
        await clock.advance(5)
        assert ": ConnectionError: cut off. Feeds that are due wait; it" in scheduler.blocked()["fetches"]
    await until(lambda: scheduler.blocked() == {})
    stop.set()
    await running
    assert len(await loader.queued()) == 1

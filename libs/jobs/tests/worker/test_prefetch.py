"""Prefetched jobs: only while runs are short, and never withheld from other processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_jobs import JobContext

from ..conftest import Bench, until

_MODULE = "classifeed_jobs.worker.slots"


@pytest.fixture(autouse=True)
def runs_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all runs count as short, even on a slow machine; a long run is one that delays the others for too long."""
    monkeypatch.setattr(f"{_MODULE}._SHORT_RUN_S", 3600.0)


async def test_short_jobs_are_claimed_ahead_and_run_at_most_so_many_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{_MODULE}._MAX_WAIT_S", 3600.0)
    running = most = 0
    release = asyncio.Event()

    @bench.registry.register("short")
    async def short(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if args["is_held"]:
            await release.wait()
        await asyncio.sleep(0)
        running -= 1

    async def is_claimed_ahead() -> bool:
        return bool(await bench.value("SELECT count(*) = 9 FROM dl_jobs WHERE status = 'running'"))

    async with bench.working(concurrency=3, prefetch=2.0):
        await bench.ended(await bench.enqueue("short", {"is_held": False}))  # from now on jobs are claimed ahead
        ids = [await bench.enqueue("short", {"is_held": True}) for _ in range(60)]
        await until(is_claimed_ahead)
        release.set()
        assert set(await bench.ended(*ids)) == {"succeeded"}
    assert most == 3
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0


async def test_what_was_claimed_ahead_of_a_long_run_goes_to_another_process(bench: Bench) -> None:
    release = asyncio.Event()
    ran: list[int] = []

    @bench.registry.register("mixed")
    async def mixed(ctx: JobContext, args: dict[str, Any]) -> None:
        ran.append(args["n"])
        if args["n"] == 1:
            await release.wait()

    async with bench.working(concurrency=1, prefetch=2.0):
        await bench.ended(await bench.enqueue("mixed", {"n": 0}))  # short: from now on jobs are claimed ahead
        long = await bench.enqueue("mixed", {"n": 1})
        behind = [await bench.enqueue("mixed", {"n": n}) for n in (2, 3)]

        async def is_back() -> bool:
            return (await bench.kinds(behind[0])).count("returned") == 1

        await until(is_back)
        async with bench.working(concurrency=1):
            assert await bench.ended(*behind) == ["succeeded"] * 2
        release.set()
        assert await bench.ended(long) == ["succeeded"]
    assert ran == [0, 1, 2, 3]
    assert (await bench.job(behind[0])).attempt == 1
    assert (await bench.kinds(behind[0])).count("picked") == 2


async def test_drain_hands_back_what_was_claimed_ahead(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{_MODULE}._MAX_WAIT_S", 3600.0)
    started, release = asyncio.Event(), asyncio.Event()

    @bench.registry.register("mixed")
    async def mixed(ctx: JobContext, args: dict[str, Any]) -> None:
        if args["n"]:
            started.set()
            await release.wait()

    async def is_ahead() -> bool:
        return bool(await bench.value("SELECT count(*) = 2 FROM dl_jobs WHERE status = 'running'"))

    async def is_draining() -> bool:
        return worker._is_draining

    worker, stop = bench.worker(concurrency=1, prefetch=1.0, drain_grace_s=300.0), asyncio.Event()
    working = asyncio.create_task(worker.run(stop))
    await bench.ended(await bench.enqueue("mixed", {"n": 0}))
    ids = [await bench.enqueue("mixed", {"n": n}) for n in (1, 2)]
    await started.wait()
    await until(is_ahead)
    stop.set()
    await until(is_draining)
    release.set()
    await working
    jobs = [await bench.job(job_id) for job_id in ids]
    assert [(job.status, job.attempt) for job in jobs] == [("succeeded", 1), ("queued", 0)]


async def test_cancel_of_a_job_that_waits_for_its_slot(bench: Bench) -> None:
    release = asyncio.Event()
    ran: list[int] = []

    @bench.registry.register("mixed")
    async def mixed(ctx: JobContext, args: dict[str, Any]) -> None:
        ran.append(args["n"])
        if args["n"] == 1:
            await release.wait()

    async with bench.working(concurrency=1, prefetch=1.0, heartbeat_s=30.0):
        await bench.ended(await bench.enqueue("mixed", {"n": 0}))
        long, behind = [await bench.enqueue("mixed", {"n": n}) for n in (1, 2)]
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, behind)
        assert await bench.ended(behind) == ["canceled"]
        release.set()
        assert await bench.ended(long) == ["succeeded"]
    assert ran == [0, 1]


def test_more_than_twice_the_concurrency_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match="prefetch must lie between 0 and 2"):
        bench.worker(prefetch=3.0)

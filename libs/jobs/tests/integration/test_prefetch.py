"""Jobs claimed ahead of a free slot: only while runs are short, and never kept from others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_jobs import JobContext

from .conftest import Bench, until


async def test_short_jobs_are_claimed_ahead_and_run_at_most_so_many_at_once(bench: Bench) -> None:
    running = most = 0

    @bench.registry.register("short")
    async def short(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1

    ids = [await bench.enqueue("short") for _ in range(60)]
    claimed_ahead = False
    async with bench.working(concurrency=3, prefetch=2.0):
        while (left := await bench.value("SELECT count(*) FROM dl_jobs")) > 0:
            claimed_ahead |= await bench.value("SELECT count(*) FROM dl_jobs WHERE status = 'running'") > 3
            await asyncio.sleep(0)
        assert set(await bench.ended(*ids)) == {"succeeded"}
    assert (left, most) == (0, 3)
    assert claimed_ahead


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


async def test_drain_hands_back_what_was_claimed_ahead(bench: Bench) -> None:
    started = asyncio.Event()

    @bench.registry.register("mixed")
    async def mixed(ctx: JobContext, args: dict[str, Any]) -> None:
        if args["n"]:
            started.set()
            await asyncio.sleep(0.2)

    async with bench.working(concurrency=1, prefetch=1.0):
        await bench.ended(await bench.enqueue("mixed", {"n": 0}))
        ids = [await bench.enqueue("mixed", {"n": n}) for n in (1, 2)]
        await started.wait()

        async def is_ahead() -> bool:
            return bool(await bench.value("SELECT count(*) = 2 FROM dl_jobs WHERE status = 'running'"))

        await until(is_ahead)
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

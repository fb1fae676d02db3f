"""How ends are written: on a connection of their own, in a transaction where a key is to be freed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from classifeed_jobs import JobContext

from .conftest import Bench, until


async def test_ends_are_written_while_handlers_hold_every_pooled_connection(bench: Bench) -> None:
    release = asyncio.Event()
    size = bench.db.pool_stats()["pool_max"]

    @bench.registry.register("hold")
    async def hold(ctx: JobContext, args: dict[str, Any]) -> None:
        await release.wait()

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.db.dedicated_connection() as own, bench.working(concurrency=2):
        ids = [await bench.enqueue("hold"), await bench.enqueue("noop"), await bench.enqueue("noop", lock_key="k")]
        async with AsyncExitStack() as held, asyncio.timeout(90):
            for _ in range(size):
                await held.enter_async_context(bench.db.connection())
            ended = 0
            while ended < 2:
                row = await (await own.execute("SELECT count(*) FROM dl_jobs_done")).fetchone()
                assert row is not None
                ended = row[0]
            row = await (await own.execute("SELECT count(*) FROM dl_job_locks")).fetchone()
            assert row == (0,)
        release.set()
        assert await bench.ended(*ids) == ["succeeded"] * 3


async def test_nothing_more_is_claimed_while_too_many_ends_wait_to_be_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.completions._BEHIND", 20)
    ran = 0

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal ran
        ran += 1

    ids = [await bench.enqueue("noop") for _ in range(300)]
    async with bench.db.dedicated_connection() as other, bench.working(concurrency=10) as worker:
        async with other.transaction():
            # Ends wait for this, claims do not.
            await other.execute("LOCK TABLE dl_jobs_done IN ACCESS EXCLUSIVE MODE")

            async def is_told_to_stop() -> bool:
                return worker._completions.is_behind or ran == len(ids)

            await until(is_told_to_stop)
            for _ in range(50):  # nobody claims now: give it the time to do so
                await asyncio.sleep(0.01)
            assert ran <= 20 + 2 * 10
        assert set(await bench.ended(*ids)) == {"succeeded"}
    assert ran == len(ids)

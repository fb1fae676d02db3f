"""How ends are written: on a connection of their own, in a transaction where a key is to be freed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from classifeed_jobs import JobContext

from .conftest import Bench


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

"""Writes of completions: on a separate connection, in a transaction if a key is released."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from classifeed_jobs import JobContext

from ..conftest import Bench, until


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
    monkeypatch.setattr("classifeed_jobs.worker.completions._BEHIND", 20)
    ran = 0

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal ran
        ran += 1

    ids = [await bench.enqueue("noop") for _ in range(300)]
    async with bench.db.dedicated_connection() as other:
        await other.execute("BEGIN")
        await other.execute(
            "LOCK TABLE dl_jobs_done IN ACCESS EXCLUSIVE MODE"
        )  # completions wait for it, claims do not
        async with bench.working(concurrency=10) as worker:

            async def is_stopping() -> bool:
                return worker._completions.is_behind or ran == len(ids)

            await until(is_stopping)
            claimed = [await _claimed_after_a_look(bench, ids) for _ in range(2)]  # one may be under way
            assert claimed[0] == claimed[1] <= 20 + 2 * 10
            await other.execute("ROLLBACK")
            assert set(await bench.ended(*ids)) == {"succeeded"}
    assert ran == len(ids)


async def _claimed_after_a_look(bench: Bench, ids: list[Any]) -> int:
    """Return the number of claimed jobs after a poll of the worker; a poll ends with the promotion of due jobs."""
    insert = "INSERT INTO dl_jobs (queue, task, waits_for) VALUES ('q', 'noop', 'time') RETURNING job_id"
    due = await bench.value(insert)
    ids.append(due)

    async def is_let_in() -> bool:
        return bool(await bench.value("SELECT waits_for IS NULL FROM dl_jobs WHERE job_id = %s", due))

    await until(is_let_in)
    return int(await bench.value("SELECT count(*) FROM dl_jobs WHERE claim_no > 0"))

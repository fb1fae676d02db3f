"""SliceJob processes each slice once, even if it dies at every step."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Fixed, JobContext, Slice, SliceJob

from ..conftest import Bench, until


class SweepArgs(BaseModel):
    size: int


class Died(Exception):
    pass


async def test_slices_take_effect_once_however_often_the_job_dies(bench: Bench) -> None:
    await bench.execute("CREATE TABLE things (id integer PRIMARY KEY, swept integer NOT NULL DEFAULT 0)")
    await bench.execute("INSERT INTO things SELECT generate_series(1, 95)")
    await bench.execute("CREATE TABLE ends (n integer)")
    deaths = iter([False, True, False, False, True, True, False, False, True])

    async def sweep(tx: Tx, args: SweepArgs, cursor: Any, ctx: JobContext) -> Slice:
        rows = await (
            await tx.execute(
                "UPDATE things SET swept = swept + 1 WHERE id IN "
                "(SELECT id FROM things WHERE id > %s ORDER BY id LIMIT %s) RETURNING id",
                [cursor or 0, args.size],
            )
        ).fetchall()
        if next(deaths, False):
            raise Died
        last = max(row[0] for row in rows)
        return Slice(next=last if len(rows) == args.size else None, processed=len(rows), total=95)

    async def at_end(tx: Tx, args: SweepArgs, ctx: JobContext) -> None:
        await tx.execute("INSERT INTO ends VALUES (1)")

    job = SliceJob(sweep, at_end)
    bench.registry.register("sweep", args=SweepArgs, resumes=True, backoff=Fixed(0.01))(job.run)
    async with bench.working(heartbeat_s=0.1):
        job_id = await bench.enqueue("sweep", {"size": 10}, max_attempts=None)
        assert await bench.ended(job_id) == ["succeeded"]
    assert await bench.execute("SELECT DISTINCT swept FROM things") == [(1,)]
    assert await bench.value("SELECT count(*) FROM ends") == 1
    assert (await bench.job(job_id)).attempt == 5
    assert (await bench.job(job_id)).checkpoint == {"cursor": None, "processed": 95, "is_done": True}


async def test_slice_of_a_lost_claim_is_rolled_back(bench: Bench) -> None:
    """The job is requeued between two slices: the stale run stops, and the next run continues from the cursor."""
    await bench.execute("CREATE TABLE slices (n integer, claim_no integer)")

    async def slow(tx: Tx, args: SweepArgs, cursor: Any, ctx: JobContext) -> Slice:
        n = (cursor or 0) + 1
        await tx.execute("INSERT INTO slices VALUES (%s, %s)", [n, ctx.claim_no])
        return Slice(next=n if n < args.size else None, processed=1)

    async def drive(ctx: JobContext, args: SweepArgs) -> None:
        async for progress in SliceJob(slow).run(ctx, args):
            if ctx.claim_no == 1 and progress.processed == 3:
                # As the reaper does after a suspension of the process.
                await bench.execute(
                    "UPDATE dl_jobs SET status = 'queued', claimed_by = NULL WHERE job_id = %s", ctx.job_id
                )

    bench.registry.register("drive", args=SweepArgs)(drive)
    async with bench.working(heartbeat_s=30.0):
        job_id = await bench.enqueue("drive", {"size": 6})

        async def done() -> bool:
            return bool(await bench.value("SELECT count(*) = 1 FROM dl_jobs_done WHERE job_id = %s", job_id))

        await until(done)
    assert await bench.execute("SELECT n, claim_no FROM slices ORDER BY n") == [
        (n, 1 if n <= 3 else 2) for n in range(1, 7)
    ]

"""Costs of other engines that this one avoids, measured by the server's counters, not by the clock."""

from __future__ import annotations

import asyncio
from typing import Any

from classifeed_jobs import JobContext, JobRequest

from ..conftest import Bench, until


async def test_heartbeats_of_many_runs_write_one_row_and_lock_keys_no_session_lock(bench: Bench) -> None:
    release = asyncio.Event()

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        await release.wait()

    ids = [await bench.enqueue("wait", lock_key=f"k{n}") for n in range(40)]
    version = "SELECT array_agg(xmin::text || ctid::text ORDER BY job_id) FROM dl_jobs"

    async def all_run() -> bool:
        return bool(await bench.value("SELECT count(*) = 40 FROM dl_jobs WHERE status = 'running'"))

    async with bench.working(concurrency=50, heartbeat_s=0.05) as worker:
        await until(all_run)
        before = await bench.value(version)
        renewed = "SELECT renewed_at FROM dl_workers WHERE worker_id = %s"
        first = await bench.value(renewed, worker.worker_id)

        async def has_beaten() -> bool:
            since = "SELECT renewed_at > %s::timestamptz + interval '0.3 s' FROM dl_workers WHERE worker_id = %s"
            return bool(await bench.value(since, first, worker.worker_id))

        await until(has_beaten)
        assert await bench.value(version) == before
        assert (
            await bench.value(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            == 0
        )
        release.set()
        assert set(await bench.ended(*ids)) == {"succeeded"}


async def test_short_jobs_share_their_transactions(bench: Bench) -> None:
    """Claims and completions are written in batches, without two commits per job."""

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.db.transaction() as tx:
        responses = await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(400)])
    async with bench.working(concurrency=100):
        await bench.ended(*(response.job_id for response in responses))
    for kind in ("picked", "succeeded"):
        commits = await bench.value("SELECT count(DISTINCT xmin::text) FROM dl_job_events WHERE kind = %s", kind)
        assert commits <= 200, kind


async def test_finished_jobs_do_not_lie_in_the_way_of_claims(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working(concurrency=50):
        async with bench.db.transaction() as tx:
            responses = await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(200)])
        await bench.ended(*(response.job_id for response in responses))
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0
    assert await bench.value("SELECT count(*) FROM dl_jobs_done") == 200

"""A worker, a reaper and a scheduler whose connections stay open without a response."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.recovery import RECOVERY_LIMIT_S, Stopwatch
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy
from classifeed_jobs import JobContext, Reaper, Schedule, Scheduler, Schedules
from classifeed_jobs.claim.fetch import QueueCursor, claim_jobs
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until

pytestmark = pytest.mark.slow


@pytest.fixture
async def proxied(bench: Bench, proxied_database: ProxiedDatabase) -> Bench:
    """Return the same tables through the proxy; `bench` has them directly."""
    return Bench(await proxied_database())


async def test_a_worker_hears_of_jobs_and_writes_their_ends_after_a_silence(
    bench: Bench, proxied: Bench, postgres_proxy: TcpProxy
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    @proxied.registry.register("long")
    async def long(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        await go_on.wait()
        async with ctx.guarded_transaction() as tx:
            await tx.execute("SELECT 1")

    @proxied.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    # Polls are an hour apart, so they do not help.
    async with proxied.working(claim_backoff_s=3600.0, heartbeat_s=5.0):
        await bench.ended(await bench.enqueue("noop"))  # the connection for completions exists
        under_way = await bench.enqueue("long", lease_ttl_s=60)
        await started.wait()
        assert postgres_proxy.silence_existing() >= 4  # claims, completions, LISTEN, and the pool
        watch = Stopwatch("worker: a job that nobody polls for")
        later = await bench.enqueue("noop")
        assert await bench.ended(later, within_s=RECOVERY_LIMIT_S) == ["succeeded"]
        # Claims may have noticed their dead connection earlier, but only the listener can report this one.
        assert await bench.ended(await bench.enqueue("noop"), within_s=RECOVERY_LIMIT_S) == ["succeeded"]
        watch.stop()
        watch = Stopwatch("worker: the end of a run that was under way")
        go_on.set()
        assert await bench.ended(under_way, within_s=RECOVERY_LIMIT_S) == ["succeeded"]
        watch.stop()
    assert (await bench.job(under_way)).attempt == 1


async def test_a_worker_keeps_its_lease_over_a_silence(bench: Bench, proxied: Bench, postgres_proxy: TcpProxy) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    @proxied.registry.register("long")
    async def long(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        await go_on.wait()

    async def renewed() -> bool:
        return bool(await bench.value("SELECT bool_and(renewed_at > %s) FROM dl_workers", silent_since))

    async with proxied.working(heartbeat_s=2.0), running(Reaper(bench.db, reaper_period_s=1.0)):
        job_id = await bench.enqueue("long", lease_ttl_s=40)
        await started.wait()
        silent_since = await bench.value("SELECT clock_timestamp()")
        postgres_proxy.silence_existing()
        watch = Stopwatch("heartbeat")
        await until(renewed, within_s=RECOVERY_LIMIT_S)
        watch.stop()
        go_on.set()
        await bench.ended(job_id, within_s=RECOVERY_LIMIT_S)
    assert (await bench.job(job_id)).attempt == 1


async def test_a_reaper_goes_on_after_a_silence(bench: Bench, proxied: Bench, postgres_proxy: TcpProxy) -> None:
    async with running(Reaper(proxied.db, reaper_period_s=0.5)):
        await until(lambda: has_sessions(bench))
        postgres_proxy.silence_existing()
        watch = Stopwatch("reaper")
        job_id = await bench.enqueue(max_attempts=1)
        await lose(bench, job_id)
        assert await bench.ended(job_id, within_s=RECOVERY_LIMIT_S) == ["failed"]
        watch.stop()


async def lose(bench: Bench, job_id: Any) -> None:
    """Assign a job to a process that has been silent for a long time."""
    lease = ProcessLease("lost", ["q"])
    async with bench.db.dedicated_connection() as connection:
        await lease.register(connection)
        response = await claim_jobs(
            connection, worker_id="lost", queue="q", wanted=1, fresh_s=60.0, cursor=QueueCursor()
        )
        assert [claim.job_id for claim in response.claims] == [job_id]
    await bench.execute("UPDATE dl_workers SET renewed_at = renewed_at - interval '1 day' WHERE worker_id = 'lost'")


async def has_sessions(bench: Bench) -> bool:
    return bool(await bench.value("SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'proxied'"))


async def test_a_scheduler_goes_on_after_a_silence(bench: Bench, proxied: Bench, postgres_proxy: TcpProxy) -> None:
    async with bench.db.transaction() as tx:
        await Schedules().put(tx, Schedule(name="s", queue="q", task="noop", every_s=1, overlap="queue_all"))

    async def jobs() -> int:
        return int(await bench.value("SELECT count(*) FROM dl_jobs"))

    async def has_one() -> bool:
        return await jobs() > 0

    async with running(Scheduler(proxied.db, proxied.store)):
        await until(has_one)
        postgres_proxy.silence_existing()
        made = await jobs()
        watch = Stopwatch("scheduler")

        async def has_more() -> bool:
            return await jobs() > made

        await until(has_more, within_s=RECOVERY_LIMIT_S)
        watch.stop()

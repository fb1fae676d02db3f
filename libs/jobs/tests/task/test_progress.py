"""The last report of a run is kept, even for short runs and any outcome; heartbeats never precede the start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from classifeed_jobs import Fail, JobContext, Progress, Reaper, Retry, Snooze

from ..conftest import Bench, until

LAST = {"processed": 3, "total": 3}


def _register(bench: Bench, gate: asyncio.Event) -> None:
    @bench.registry.register("steps")
    async def steps(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
        for step in range(1, 4):
            yield Progress(step, 3)
            if step == 1:
                await gate.wait()

    @bench.registry.register("thread")
    def thread(ctx: JobContext, args: dict[str, Any]) -> Iterator[Progress]:
        for step in range(1, 4):
            yield Progress(step, 3)

    @bench.registry.register("ends")
    async def ends(ctx: JobContext, args: dict[str, Any]) -> None:
        ctx.report(Progress(3, 3))
        raise {"fail": Fail("no"), "retry": Retry(3600), "snooze": Snooze(3600), "fault": ValueError("x")}[args["by"]]

    @bench.registry.register("waits")
    async def waits(ctx: JobContext, args: dict[str, Any]) -> None:
        ctx.report(Progress(3, 3))
        gate.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("task", ["steps", "thread"])
@pytest.mark.parametrize("is_long", [False, True])
async def test_job_with_three_steps_ends_with_three_of_three(bench: Bench, task: str, is_long: bool) -> None:
    gate = asyncio.Event()
    _register(bench, gate)
    async with bench.working(heartbeat_s=0.05 if is_long else 10.0):
        job_id = await bench.enqueue(task, lock_key="k" if is_long else None)
        if is_long and task == "steps":  # heartbeats write the first report before the run continues

            async def is_shown() -> bool:
                return (await bench.job(job_id)).progress == {"processed": 1, "total": 3}

            await until(is_shown)
        gate.set()
        assert await bench.ended(job_id) == ["succeeded"]
    assert (await bench.job(job_id)).progress == LAST


@pytest.mark.parametrize(
    ("by", "status"), [("fail", "failed"), ("retry", "queued"), ("snooze", "queued"), ("fault", "queued")]
)
async def test_last_report_stays_however_the_run_ends(bench: Bench, by: str, status: str) -> None:
    _register(bench, asyncio.Event())
    async with bench.working():
        job_id = await bench.enqueue("ends", {"by": by})

        async def is_over() -> bool:
            job = await bench.job(job_id)
            return job.claim_no == 1 and job.claimed_by is None

        await until(is_over)
    job = await bench.job(job_id)
    assert (job.status, job.progress) == (status, LAST)


@pytest.mark.parametrize("drains", [False, True])
async def test_last_report_stays_when_canceled_or_handed_back(bench: Bench, drains: bool) -> None:
    gate = asyncio.Event()
    _register(bench, gate)
    async with bench.working(drain_grace_s=0.01):
        job_id = await bench.enqueue("waits")
        await gate.wait()
        if not drains:
            async with bench.db.transaction() as tx:
                await bench.store.cancel(tx, job_id)
            assert await bench.ended(job_id) == ["canceled"]
    assert (await bench.job(job_id)).progress == LAST


async def test_heartbeat_is_never_earlier_than_the_start(bench: Bench) -> None:
    gate = asyncio.Event()
    _register(bench, gate)
    async with bench.working(heartbeat_s=3600.0):
        await until(lambda: _has_worker(bench))
        job_id = await bench.enqueue("waits")
        await gate.wait()
        # A process renews its lease at its start, a little before or after the start of its first job.
        await bench.execute("UPDATE dl_workers SET renewed_at = renewed_at - interval '1 minute'")
        running = await bench.job(job_id)
        assert running.heartbeat_at is not None
        assert running.started_at is not None
        assert running.heartbeat_at >= running.started_at
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, job_id)
        assert await bench.ended(job_id) == ["canceled"]
    done = await bench.job(job_id)
    assert done.heartbeat_at is not None
    assert done.finished_at is not None
    assert running.heartbeat_at <= done.heartbeat_at <= done.finished_at


async def _has_worker(bench: Bench) -> bool:
    return bool(await bench.value("SELECT count(*) FROM dl_workers"))


async def test_heartbeat_of_a_lost_job_is_the_last_one_of_its_worker(bench: Bench) -> None:
    await bench.execute(
        "INSERT INTO dl_workers (worker_id, queues, renewed_at) VALUES ('dead', '{q}', now() - interval '1 hour')"
    )
    job_id = await bench.value(
        "INSERT INTO dl_jobs (queue, task, status, claimed_by, attempt, claim_no, max_attempts, started_at) "
        "VALUES ('q', 'noop', 'running', 'dead', 1, 1, 1, now() - interval '2 hours') RETURNING job_id"
    )
    await Reaper(bench.db).reap()
    job = await bench.job(job_id)
    assert job.status == "failed"
    renewed_at = await bench.value("SELECT renewed_at FROM dl_workers WHERE worker_id = 'dead'")
    assert job.heartbeat_at == renewed_at

"""Jobs that wait for an event: no wake is lost, in any state of the job."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from classifeed_jobs import JobContext, Snooze
from classifeed_jobs.claim.claim import SNOOZED, Completion
from classifeed_jobs.claim.finish import complete_claims

from ..claimant import Claimant
from ..conftest import Bench, until


async def _make_due(bench: Bench, *job_ids: Any) -> None:
    async with bench.db.transaction() as tx:
        await bench.store.make_due(tx, job_ids)


async def _wait_of(bench: Bench, job_id: Any) -> Any:
    return await bench.value("SELECT waits_for FROM dl_jobs WHERE job_id = %s", job_id)


async def test_job_asleep_runs_as_soon_as_it_is_made_due(bench: Bench) -> None:
    runs = 0

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise Snooze(for_s=3600)

    async with bench.working(claim_backoff_s=3600.0):
        job_id = await bench.enqueue()
        await until(lambda: _is(bench, job_id, "time"))
        await _make_due(bench, job_id)
        assert await bench.ended(job_id) == ["succeeded"]
    assert await bench.kinds(job_id) == ["queued", "picked", "snoozed", "picked", "succeeded"]


async def _is(bench: Bench, job_id: Any, waits_for: str) -> bool:
    return bool(await _wait_of(bench, job_id) == waits_for)


async def test_job_made_due_while_it_runs_does_not_sleep(bench: Bench) -> None:
    """The event occurs after the job has polled without success, and before it snoozes."""
    runs = 0

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            await _make_due(bench, ctx.job_id)
            raise Snooze(for_s=3600)

    async with bench.working(claim_backoff_s=3600.0):
        assert await bench.ended(await bench.enqueue()) == ["succeeded"]


async def test_wake_that_commits_while_the_end_waits_for_the_row_is_seen(bench: Bench) -> None:
    """The completion's snapshot is older than the wake, so it sees only the values of the locked row itself."""
    claimant = Claimant(bench)
    job_id = await bench.enqueue()
    (claim,) = await claimant.claim(1)
    completion = Completion(claim.job_id, claim.claim_no, SNOOZED, delay_s=3600)

    async def end() -> None:
        async with bench.db.transaction() as tx:
            await complete_claims(tx, [completion])

    async with bench.db.transaction() as tx:
        await bench.store.make_due(tx, [job_id])
        ended = asyncio.create_task(end())
        await until(lambda: _is_anybody_waiting(bench))
    await ended
    assert await _wait_of(bench, job_id) is None


async def _is_anybody_waiting(bench: Bench) -> bool:
    count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return bool(await bench.value(count))


async def test_wake_before_the_claim_does_not_cut_a_later_sleep_short(bench: Bench) -> None:
    claimant = Claimant(bench)
    job_id = await bench.enqueue()
    (claim,) = await claimant.claim(1)
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, SNOOZED, delay_s=3600)])
    await _make_due(bench, job_id)
    await bench.execute("UPDATE dl_jobs SET waits_for = NULL")
    (claim,) = await claimant.claim(1)
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, SNOOZED, delay_s=3600)])
    assert await _wait_of(bench, job_id) == "time"


async def test_ended_and_unknown_jobs_are_passed_over(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working():
        job_id = await bench.enqueue()
        await bench.ended(job_id)
        await _make_due(bench, job_id, UUID(int=7))
        await _make_due(bench)
    assert (await bench.job(job_id)).status == "succeeded"

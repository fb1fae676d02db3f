"""A guarded transaction writes for the run that holds the job, and nothing for a run that has lost it."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_jobs import ClaimLost, JobContext
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.finish import complete_claims

from ..claimant import Claimant
from ..conftest import Bench


def context(bench: Bench, claim: Claim) -> JobContext:
    return JobContext(claim, bench.db, None, asyncio.get_running_loop())


@pytest.fixture
async def runs(bench: Bench) -> tuple[JobContext, JobContext]:
    """Return a run that has lost its claim, and the run that has the job now."""
    await bench.execute("CREATE TABLE effects (run text)")
    await bench.enqueue()
    claimant = Claimant(bench)
    (old,) = await claimant.claim(1)
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(old.job_id, old.claim_no, "returned")])
    (new,) = await claimant.claim(1)
    assert (new.job_id, new.claim_no > old.claim_no) == (old.job_id, True)
    return context(bench, old), context(bench, new)


async def write(run: JobContext, text: str) -> None:
    async with run.guarded_transaction() as tx:
        await tx.execute("INSERT INTO effects VALUES (%s)", [text])
        if text == "half":
            raise ZeroDivisionError


async def test_a_stale_claim_writes_nothing(bench: Bench, runs: tuple[JobContext, JobContext]) -> None:
    stale, holder = runs
    with pytest.raises(ClaimLost):
        await write(stale, "half")  # the block is not entered
    await write(holder, "whole")
    assert await bench.execute("SELECT run FROM effects") == [("whole",)]


async def test_a_block_that_fails_is_rolled_back_whole(bench: Bench, runs: tuple[JobContext, JobContext]) -> None:
    _, holder = runs
    with pytest.raises(ZeroDivisionError):
        await write(holder, "half")
    assert await bench.execute("SELECT run FROM effects") == []

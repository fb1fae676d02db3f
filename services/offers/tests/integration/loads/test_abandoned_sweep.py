"""A sweep that no job continues ends its run, so that the load is sent again or given up and does not wait for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_INCOMPLETE,
    TaskEndResult,
)
from classifeed_common.db import Database, Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Fixed, Job, JobAdmin, JobStore, Task, Worker
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Guard
from classifeed_offers.jobs import sweep as sweep_module
from classifeed_offers.jobs.sweep import QUEUE, TASK, SweepJobs, sweep_registry

from ...conftest import Load, Owner, Records


@pytest.fixture
def tasks() -> Mapping[str, Task]:
    registry = sweep_registry(Outbox(), guard=Guard())
    return {TASK: replace(registry[TASK], backoff=Fixed(0.01))}


async def ends(database: Database) -> list[TaskEndResult]:
    async with database.transaction() as tx:
        rows = await (await tx.execute("SELECT value FROM outbox ORDER BY id")).fetchall()
    return [TaskEndResult.FromString(value) for (value,) in rows]


async def job_of(database: Database, store: JobStore, number: int) -> Job:
    async with database.transaction() as tx:
        rows = await (await tx.execute("SELECT job_id FROM dl_jobs_all ORDER BY created_at")).fetchall()
        job = await store.get(tx, rows[number][0])
    assert job is not None
    return job


async def sweeping(owner: Owner, store: JobStore, load: Load) -> None:
    """Apply a whole run and enqueue its sweep as a job."""
    await owner.take(load.messages)
    async with owner.database.transaction() as tx:
        await SweepJobs(store, guard=Guard()).start(tx, owner.sweeps.pop())


async def run_jobs(database: Database, store: JobStore, tasks: Mapping[str, Task], number: int) -> Job:
    """Work until the job has ended."""
    stop = asyncio.Event()
    worker = Worker(database, store, tasks, queues={QUEUE: 1}, drain_grace_s=1, claim_backoff_s=0.2)
    running = asyncio.create_task(worker.run(stop))
    try:
        async with asyncio.timeout(120):
            while (job := await job_of(database, store, number)).status not in {"failed", "succeeded"}:
                await asyncio.sleep(0.02)
    finally:
        stop.set()
        await running
    return job


async def test_fifth_unknown_fault_ends_the_run_incomplete_and_the_next_run_sweeps(
    database: Database,
    owner: Owner,
    records: Records,
    new_load: type[Load],
    tasks: Mapping[str, Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = JobStore(tasks=tasks)
    await owner.load(new_load([records.good(str(i)) for i in range(4)]))
    file = [records.good("0")]
    await sweeping(owner, store, new_load(file, task=2))

    async def fault(tx: Tx, run: RunKey) -> None:
        raise OverflowError("nobody foresaw it")

    with monkeypatch.context() as broken:
        broken.setattr(sweep_module, "sweep_step", fault)
        job = await run_jobs(database, store, tasks, 0)
    assert (job.status, job.reason, job.unknown_faults) == ("failed", "UNKNOWN_FAULTS", 5)
    (result,) = await ends(database)
    assert (result.task_id, result.run, result.outcome) == (2, 1, TASK_END_OUTCOME_INCOMPLETE)
    assert len(await owner.alive()) == 4

    await sweeping(owner, store, new_load(file, task=2, run=2))
    assert (await run_jobs(database, store, tasks, 1)).status == "succeeded"
    assert [(end.run, end.outcome, end.removed) for end in (await ends(database))[1:]] == [
        (2, TASK_END_OUTCOME_COMPLETED, 3)
    ]
    assert await owner.alive() == {"0"}


async def test_canceled_sweep_ends_the_run_incomplete_once(
    database: Database, owner: Owner, records: Records, new_load: type[Load], tasks: Mapping[str, Task]
) -> None:
    store = JobStore(tasks=tasks)
    await owner.load(new_load([records.good(str(i)) for i in range(4)]))
    await sweeping(owner, store, new_load([records.good("0")], task=2))
    job = await job_of(database, store, 0)
    await JobAdmin(database, store).cancel(job.job_id, by="anna")
    assert [end.outcome for end in await ends(database)] == [TASK_END_OUTCOME_INCOMPLETE]
    # An operator's retry has nothing to do, because the run has ended.
    assert await JobAdmin(database, store).retry(job.job_id, by="anna")
    assert (await run_jobs(database, store, tasks, 0)).status == "succeeded"
    assert len(await ends(database)) == 1
    assert len(await owner.alive()) == 4

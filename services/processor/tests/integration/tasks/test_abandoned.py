"""A job that ends unfinished ends its task with a message for the seller, and the namespace continues."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from classifeed.feeds.v1 import offer_results_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed_common.blobs import BlobStore
from classifeed_jobs import FailedJob, Fixed, Job, JobAdmin, Reaper
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_processor.app.tasks.cancel_task import cancel_task
from classifeed_processor.app.tasks.create_task import QUEUE, TASK
from classifeed_processor.app.tasks.fail_task import fail_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.jobs.feed_process import registry

from ..conftest import Scene

pytestmark = pytest.mark.kafka
SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
IN_PROGRESS, HELD = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD
CANCELED, DONE = task_pb2.TASK_STATUS_CANCELED, task_pb2.TASK_PHASE_DONE


class FaultyBlobs(BlobStore):
    """Store with one file at which a library raises an unexpected exception."""

    def __init__(self, blobs: BlobStore, sha256: str) -> None:
        self._blobs = blobs
        self._sha256 = sha256
        self.tries = 0

    async def fetch(self, sha256: str, target: Path) -> int:
        if sha256 == self._sha256:
            self.tries += 1
            raise OverflowError("unsigned int is greater than maximum")
        return await self._blobs.fetch(sha256, target)


async def two(scene: Scene) -> tuple[list[str], list[TaskKey]]:
    """Two tasks of one namespace."""
    files = [await scene.file(scene.offer(f"a{n}")) for n in range(2)]
    return files, [await scene.create(sha256) for sha256 in files]


async def job_ids(scene: Scene) -> list[UUID]:
    return [job_id for (job_id,) in await scene.sql("SELECT job_id FROM dl_jobs_all ORDER BY created_at")]


async def job(scene: Scene, job_id: UUID) -> Job:
    async with scene.database.transaction() as tx:
        job = await scene.jobs.get(tx, job_id)
    assert job is not None
    return job


async def test_fifth_unknown_fault_fails_the_task_with_an_incident_and_the_next_one_runs(scene: Scene) -> None:
    scene.job_tasks = {TASK: replace(registry[TASK], backoff=Fixed(0.01))}
    files, (first, second) = await two(scene)
    blobs = FaultyBlobs(scene.blobs, files[0])
    scene.parts = replace(scene.parts, blobs=blobs)
    with capture_logs() as logs:
        scene.start()
        assert (await scene.wait_end(second)).status == SUCCEEDED
    task = await scene.task(first)
    assert (task.status, task.phase, task.error_code) == (FAILED, task_pb2.TASK_PHASE_DONE, "INTERNAL_FAULT")
    assert blobs.tries == 5
    (line,) = [line for line in logs if line["event"] == "task.abandoned"]
    assert f"(incident {line['incident']})" in task.error_message
    faults = [line for line in logs if line["event"] == "worker.run.unknown_fault"]
    assert (len(faults), faults[-1]["incident"]) == (5, line["incident"])
    assert isinstance(faults[-1]["exc_info"], Exception)
    assert "give the operator the incident" in task.error_message


async def lose(scene: Scene) -> None:
    """Claim the only running or due job by a process that dies."""
    async with scene.database.connection() as connection:
        await ProcessLease("gone", [QUEUE]).register(connection)
        claimed = await claim_jobs(connection, worker_id="gone", queue=QUEUE, wanted=1, fresh_s=60)
        assert len(claimed.claims) == 1
        await connection.execute("UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '10 minutes'")


async def test_third_death_of_the_reader_fails_the_task_and_the_next_one_runs(scene: Scene) -> None:
    _, (first, second) = await two(scene)
    reaper = Reaper(scene.database, registry)
    for outcome in ("lost", "lost", "failed"):
        assert (await scene.task(first)).status == IN_PROGRESS
        await lose(scene)
        assert [one.outcome for one in await reaper.reap()] == [outcome]
    task = await scene.task(first)
    assert (task.status, task.error_code) == (FAILED, "QUARANTINED")
    assert "was killed three times" in task.error_message
    assert "(incident " in task.error_message
    scene.start()
    assert (await scene.wait_end(second)).status == SUCCEEDED
    # A retry of the job has nothing to do: the seller has been informed, and later files were loaded.
    job_id = (await job_ids(scene))[0]
    assert await JobAdmin(scene.database, scene.jobs).retry(job_id, by="anna")
    async with asyncio.timeout(60):
        while (await job(scene, job_id)).status != "succeeded":
            await asyncio.sleep(0.05)
    assert (await scene.task(first)).error_code == "QUARANTINED"


async def die_twice(scene: Scene) -> None:
    """Two processes die before they have sent anything."""
    reaper = Reaper(scene.database, registry)
    for _ in range(2):
        await lose(scene)
        assert [one.outcome for one in await reaper.reap()] == ["lost"]


async def deaths_of(scene: Scene) -> int:
    return (await job(scene, (await job_ids(scene))[0])).worker_deaths


async def test_deaths_from_before_the_end_of_the_file_do_not_count_while_answers_are_awaited(scene: Scene) -> None:
    scene.owner.ignores_ends.set()
    key = await scene.upload(scene.offer("a"))
    await die_twice(scene)
    assert await deaths_of(scene) == 2
    scene.start()
    await scene.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    assert await deaths_of(scene) == 0


async def test_deaths_count_anew_where_a_run_comes_further_and_at_one_place_they_end_the_task(scene: Scene) -> None:
    """A run begins at the first batch, so repeated batches are not progress."""
    window = 48
    scene.limit(window_batches=window, stall_s=600)
    scene.owner.paused.set()
    key = await scene.upload(*scene.offers((window + 8) * 100))
    await die_twice(scene)
    scene.start()
    reaper = Reaper(scene.database, registry)
    run = 0
    for deaths in range(3):
        async with asyncio.timeout(150):
            while await sent_after(scene, key, run) < window:
                await asyncio.sleep(0.05)
        assert await deaths_of(scene) == deaths
        run = (await scene.task(key)).run
        async with asyncio.timeout(150):
            while await deaths_of(scene) == deaths:
                await scene.sql("UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '10 minutes'")
                await reaper.reap()
    task = await scene.task(key)
    assert (task.status, task.error_code) == (FAILED, "QUARANTINED")


async def sent_after(scene: Scene, key: TaskKey, run: int) -> int:
    """Return the batches that the next run has sent."""
    [[batches]] = await scene.sql("SELECT count(*) FROM offer_batches WHERE run > %s", run)
    return int(batches)


async def test_canceled_job_cancels_its_task_before_and_while_it_runs(scene: Scene) -> None:
    scene.limit(window_batches=48, stall_s=600)
    admin = JobAdmin(scene.database, scene.jobs)
    _, (first, second) = await two(scene)
    before, running = await job_ids(scene)
    await admin.cancel(before, by="anna", reason="asked by phone")
    task = await scene.task(first)
    assert (task.status, task.error_code) == (CANCELED, "LOAD_CANCELED")
    assert "before it began" in task.error_message
    assert "asked by phone" not in task.error_message
    scene.owner.ignores_ends.set()
    scene.start()
    await scene.wait(second, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    await admin.cancel(running, by="anna")
    task = await scene.wait_end(second)
    assert (task.status, task.error_code) == (CANCELED, "LOAD_CANCELED")
    assert "may still be removed" in task.error_message, "the owner of the offers has the end of the load"
    scene.owner.ignores_ends.clear()
    third = await scene.upload(scene.offer("b"))
    assert (await scene.wait_end(third)).status == SUCCEEDED
    await cancel_in_the_middle(scene)


async def cancel_in_the_middle(scene: Scene) -> None:
    """Check that batches in progress are applied and counted, nothing is removed, and the next load is correct."""
    assert scene.owner.offers.keys() == {"b"}
    scene.owner.paused.set()
    key = await scene.upload(*scene.offers(56 * 100, "c"))
    async with asyncio.timeout(150):
        while await sent_after(scene, key, (await scene.task(key)).run - 1) < 48:
            await asyncio.sleep(0.05)
    await cancel_task(scene.database, key, timeout_s=60)
    canceled = await scene.task(key)
    assert (canceled.status, canceled.phase, canceled.error_code) == (CANCELED, DONE, "LOAD_CANCELED")
    assert "what it has added and changed stays, and nothing was removed" in canceled.error_message
    job_id = (await job_ids(scene))[-1]
    async with asyncio.timeout(60):
        while (await job(scene, job_id)).status != "canceled":
            await asyncio.sleep(0.05)
    last = await scene.upload(scene.offer("b"), scene.offer("c7"), scene.offer("d"))
    scene.owner.paused.clear()
    assert (await scene.wait_end(last)).status == SUCCEEDED
    assert scene.owner.offers.keys() == {"b", "c7", "d"}
    assert (await scene.task(last)).statistics.removed == 4799
    task = await scene.task(key)
    assert (task.status, task.statistics.added) == (CANCELED, 4800)
    assert not [end for end in scene.owner.log if isinstance(end, TaskEnd) and end.task_id == key.task_id]


async def test_held_task_is_left_to_its_decision(scene: Scene) -> None:
    scene.owner.end_outcome = offer_results_pb2.TASK_END_OUTCOME_HELD
    key = await scene.upload(scene.offer("a"))
    scene.start()
    await scene.wait(key, lambda task: task.status == HELD)
    (job_id,) = await job_ids(scene)
    failed = FailedJob(job_id, QUEUE, TASK, 1, "failed", "QUARANTINED", "its worker died", "")
    async with scene.database.transaction() as tx:
        await fail_task(tx, key, failed)
    assert (await scene.task(key)).status == HELD

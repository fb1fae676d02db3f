"""A job that fails permanently completes its fetch with a message for the seller; the source is fetched again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.fetch import Fetched, FetchRequest, NotModified
from classifeed_jobs import Fixed, JobAdmin, Reaper
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_loader.app.queue_fetches import QUEUE, TASK

from .conftest import Scene

LOADED, FAILED = feed_pb2.FETCH_OUTCOME_LOADED, feed_pb2.FETCH_OUTCOME_FAILED


class FaultyDownloader:
    """Raises an unexpected exception."""

    tries = 0

    async def fetch(self, request: FetchRequest, to: Path) -> Fetched | NotModified:
        self.tries += 1
        raise OverflowError("timestamp out of range for platform time_t")


async def test_fifth_unknown_fault_fails_the_fetch_with_an_incident_and_the_next_one_runs(scene: Scene) -> None:
    scene.serve()
    good, faulty = scene.dependencies, FaultyDownloader()
    scene.use(downloader=faulty)
    scene.job_tasks = {TASK: replace(scene.job_tasks[TASK], backoff=Fixed(0.01))}
    with capture_logs() as logs:
        await scene.start_feed()
        fetch = await scene.scheduled()
    assert (fetch.outcome, fetch.code, faulty.tries) == (FAILED, "INTERNAL_FAULT", 5)
    (line,) = [line for line in logs if line["event"] == "fetch.abandoned"]
    assert f"(incident {line['incident']})" in fetch.message
    assert [one["incident"] for one in logs if one["event"] == "worker.run.unknown_fault"][-1] == line["incident"]
    assert await scene.sql("SELECT failures FROM feed_loader_task") == [(1,)]
    await scene.settled()
    await scene.stop()
    scene.dependencies = good
    scene.start()
    assert (await scene.scheduled()).outcome == LOADED


class CutStore(BlobStore):
    """Its first `put_file` ends the run, before or after the file is stored."""

    def __init__(self, blobs: BlobStore, *, is_file_there: bool) -> None:
        self._blobs = blobs
        self._is_file_there = is_file_there
        self.found: list[list[str]] = []

    async def check(self) -> None:
        await self._blobs.check()

    async def put_file(self, path: Path, sha256: str) -> None:
        is_first = not self.found
        if not is_first or self._is_file_there:
            await self._blobs.put_file(path, sha256)
        self.found.append(await self._blobs.list_own())
        if is_first:
            raise OverflowError("cut")


@pytest.mark.parametrize("is_file_there", [False, True])
async def test_cut_between_reference_and_note_the_next_run_has_one_file_with_one_reference(
    scene: Scene, blobs: BlobStore, is_file_there: bool
) -> None:
    scene.serve()
    store = CutStore(blobs, is_file_there=is_file_there)
    scene.use(blobs=store)
    scene.job_tasks = {TASK: replace(scene.job_tasks[TASK], backoff=Fixed(0.01))}
    await scene.start_feed()
    assert (await scene.scheduled()).outcome == LOADED
    [sha256] = await blobs.list_own()
    assert store.found == [[sha256] if is_file_there else [], [sha256]]
    # The processor has its own copy of the loaded file; this one is kept only for the next comparison.
    assert await scene.sql("SELECT sha256, ref_count FROM blobs") == [(sha256, 1)]
    assert len(await scene.sql("SELECT ref FROM blob_refs")) == 1
    assert await BlobRefs().sweep(scene.database, blobs, grace_s=-5.0) == 0


async def test_third_death_of_the_worker_fails_the_fetch(scene: Scene) -> None:
    scene.serve()
    await scene.put(scene.feed())
    await scene.make_due()
    assert await scene.schedule() == 1
    for outcome in ("lost", "lost", "failed"):
        async with scene.database.connection() as connection:
            await ProcessLease("gone", [QUEUE]).register(connection)
            response = await claim_jobs(connection, worker_id="gone", queue=QUEUE, wanted=1, fresh_s=60)
            assert len(response.claims) == 1
            await connection.execute("UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '10 minutes'")
        assert [one.outcome for one in await Reaper(scene.database, scene.job_tasks).reap()] == [outcome]
    [fetch] = await scene.fetches()
    assert (fetch.outcome, fetch.code) == (FAILED, "QUARANTINED")
    scene.start()
    assert (await scene.scheduled()).outcome == LOADED


async def test_canceled_job_fails_its_fetch(scene: Scene) -> None:
    await scene.put(scene.feed())
    made = await scene.run(scene.feed())
    [(job_id,)] = await scene.sql("SELECT job_id FROM dl_jobs")
    await JobAdmin(scene.database, scene.jobs).cancel(job_id, by="anna", reason="asked by phone")
    fetch = await scene.stub.GetFetch(GetFetchRequest(name=made.name))
    assert (fetch.outcome, fetch.code) == (FAILED, "FETCH_CANCELED")
    assert "asked by phone" not in fetch.message

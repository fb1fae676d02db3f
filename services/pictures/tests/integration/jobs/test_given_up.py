"""Orders whose jobs fail permanently, by unexpected exceptions or dying workers: their requests get a result."""

from __future__ import annotations

import asyncio
import os

import pytest

from classifeed.pictures.v1.picture_service_pb2 import GetStateRequest
from classifeed.pictures.v1.requests_pb2 import PictureResult
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import Exponential
from classifeed_jobs.testing import lost_lease
from classifeed_pictures.domain.lifecycle.retries import INTERNAL_ERROR
from classifeed_pictures.jobs import download

from ..conftest import Service
from ..picture_host import PictureHost, jpeg

_ENDED = (
    "SELECT job_id::text, reason, unknown_faults, worker_deaths FROM dl_jobs_done WHERE queue = 'pictures.download'"
)
# As after a faulty migration: every attempt to store a picture there fails.
_BREAK = "ALTER TABLE stored_pictures ADD CHECK (namespace <> 'offers')"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the retry pauses of jobs in the service that is started after it."""
    monkeypatch.setattr(download, "Exponential", lambda **_: Exponential(first_s=0.01, cap_s=0.05))


async def _check(service: Service, result: PictureResult, reason: str) -> tuple[int, int]:
    """Check that a result and the state name the failed job; return its faults and deaths."""
    [(job_id, found, faults, deaths)] = await service.rows(f"{_ENDED} AND reason IS NOT NULL")
    assert found == reason
    assert (result.failure.code, job_id in result.failure.message) == (INTERNAL_ERROR, True)
    state = await service.pictures.GetState(GetStateRequest(url=result.url))
    assert state.last_failure == result.failure
    assert state.next_attempt_time.seconds - state.attempt_time.seconds > 80_000  # not soon, as it would fail again
    return faults, deaths


async def test_a_download_that_fails_five_times_by_an_unknown_fault_is_reported(
    short_pauses: None, service: Service, host: PictureHost
) -> None:
    async with service.database.transaction() as tx:
        await tx.execute(_BREAK)
    await service.request([host.put("/1.jpg", jpeg(1))])
    await service.request([host.put("/2.jpg", jpeg(2))], namespace="shops", prefix="sound-")

    results = {result.reference: result for result in await service.results(2)}
    assert results["sound-0"].info.width == 640
    assert await _check(service, results["0"], "UNKNOWN_FAULTS") == (5, 0)
    assert host.count("/1.jpg") == 5


async def test_a_download_at_which_three_workers_die_is_reported(service: Service, host: PictureHost) -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(3600)

    host.responses["/killer.jpg"] = stall
    await service.request([host.url("/killer.jpg")])

    async def is_run() -> bool:
        return host.count("/killer.jpg") == 1

    await until(is_run)
    # Two workers have died before; this one is the third.
    await service.rows("UPDATE dl_jobs SET worker_deaths = 2 WHERE queue = 'pictures.download' RETURNING 1")
    async with lost_lease(service.database, os.getpid()):
        [result] = await service.results(1)
    assert await _check(service, result, "QUARANTINED") == (0, 3)

"""A processor that is killed, stopped or paused at the worst moment: the task ends as without the fault."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS
from classifeed_jobs.testing import lost_lease
from classifeed_processor.app.runs.limit_sellers import WINDOW_BATCHES
from classifeed_processor.bootstrap import prepare
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.settings import ProcessorSettings

from ..conftest import Scene

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED
OFFERS = 3000
Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
async def start(scene: Scene) -> AsyncIterator[Start]:
    """Start processors that are separate processes; the service offers is in this process."""
    owner = replace(scene.owner, requests=FEEDS_OFFER_REQUESTS, results=FEEDS_OFFER_RESULTS)
    owner.seller = f"shop-{secrets.token_hex(4)}"
    scene.owner = owner
    environment = {**os.environ, **scene.environment(JOBS_LEASE_S="600", LOG_LEVEL="warning")}
    await prepare(ProcessorSettings(kafka_bootstrap=scene.settings["KAFKA_BOOTSTRAP"]))
    running: list[subprocess.Popen[bytes]] = []

    def begin() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "classifeed_processor"]
        running.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL))
        return running[-1]

    scene.start(work=False, results=False)
    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        await asyncio.to_thread(process.wait, 120)


async def begin(scene: Scene) -> TaskKey:
    offers = (scene.offer(f"a{n}", price="x" if n % 1000 == 0 else "5") for n in range(OFFERS))
    return await scene.upload(*offers, upload_id=secrets.token_hex(4))


async def until_window_is_full(scene: Scene) -> None:
    """Batches are in the table before they are sent; a process that is killed in between has sent nothing."""

    async def is_full() -> bool:
        return await asyncio.to_thread(scene.owner.count_requests) == WINDOW_BATCHES

    await until(is_full, 150)


async def check_ended(scene: Scene, key: TaskKey, *, runs: int) -> None:
    task = await scene.wait_end(key, 300)
    assert task.status == SUCCEEDED
    assert scene.owner.runs() == [(key.task_id, number) for number in range(1, runs + 1)]
    statistics = task.statistics
    # Offers that an unfinished run has applied are unchanged in the next run.
    assert (statistics.total, statistics.added + statistics.unchanged) == (OFFERS, OFFERS - 3)
    assert (statistics.rejected_validation, statistics.errors) == (3, 3)
    assert len(scene.owner.offers) == OFFERS - 3
    scene.owner.assert_ends_are_last()


async def test_killed_while_sending_the_next_process_sends_a_new_run(scene: Scene, start: Start) -> None:
    scene.owner.paused.set()
    key = await begin(scene)
    first = start()
    await until_window_is_full(scene)
    first.kill()
    await asyncio.to_thread(first.wait, 120)
    assert len(list((scene.folder / "spool").iterdir())) == 1
    scene.owner.paused.clear()
    async with lost_lease(scene.database, first.pid):
        start()
        await check_ended(scene, key, runs=2)
    assert list((scene.folder / "spool").iterdir()) == []


@in_campaigns
async def test_killed_after_the_last_batch_only_the_end_is_said_again(scene: Scene, start: Start) -> None:
    scene.owner.ignores_ends.set()
    key = await begin(scene)
    first = start()
    await scene.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_SENT, 150)
    first.kill()
    await asyncio.to_thread(first.wait, 120)
    scene.owner.ignores_ends.clear()
    async with lost_lease(scene.database, first.pid):
        start()
        await check_ended(scene, key, runs=1)
    batches = [request.batch_id for request in scene.owner.log if isinstance(request, OfferBatch)]
    assert batches == list(range(1, OFFERS // 100 + 1))


@in_campaigns
async def test_asked_to_stop_it_hands_the_task_back(scene: Scene, start: Start) -> None:
    scene.owner.paused.set()
    key = await begin(scene)
    first = start()
    await until_window_is_full(scene)
    first.terminate()
    assert await asyncio.to_thread(first.wait, 120) == 0
    assert list((scene.folder / "spool").iterdir()) == []
    scene.owner.paused.clear()
    start()
    await check_ended(scene, key, runs=2)


async def test_a_process_that_was_paused_past_its_lease_changes_nothing(scene: Scene, start: Start) -> None:
    scene.owner.paused.set()
    key = await begin(scene)
    first = start()
    await until_window_is_full(scene)
    os.kill(first.pid, signal.SIGSTOP)
    first_run = (await scene.task(key)).run

    async def second_run() -> bool:
        return (await scene.task(key)).run > first_run

    async with lost_lease(scene.database, first.pid):
        start()
        await until(second_run, 150)
    scene.owner.paused.clear()
    os.kill(first.pid, signal.SIGCONT)
    await check_ended(scene, key, runs=2)

    async def has_reply() -> bool:
        return any(stage.stage == "answer" for stage in (await scene.task(key)).statistics.stages)

    await until(has_reply, 150)
    ended = await scene.task(key)
    # The work of the paused process has no effect.
    for _ in range(20):
        assert await scene.task(key) == ended
        await asyncio.sleep(0.1)

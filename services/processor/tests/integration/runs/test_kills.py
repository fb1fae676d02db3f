"""A processor that is killed, stopped or paused at the worst moment: the task ends as without the fault."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS
from classifeed_jobs.testing import lost_lease
from classifeed_processor.app.runs.limit_sellers import WINDOW_BATCHES
from classifeed_processor.bootstrap import prepare
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.settings import ProcessorSettings

from ...conftest import WriteOffer, WriteYml
from ..conftest import MakeProcessor, Processor

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED
OFFERS = 3000
Processes = tuple[Processor, Callable[[], subprocess.Popen[bytes]]]


@pytest.fixture
async def processes(
    make_processor: MakeProcessor, kafka: EmbeddedKafka, s3: EmbeddedS3, tmp_path: Path
) -> AsyncIterator[Processes]:
    """Yield the database and the service offers in this process; processors are separate processes."""
    processor = await make_processor()
    database = processor.database
    owner = replace(processor.owner, requests=FEEDS_OFFER_REQUESTS, results=FEEDS_OFFER_RESULTS)
    owner.seller = f"shop-{secrets.token_hex(4)}"
    processor.owner = owner
    environment = {
        "DSN": database.dsn,
        "KAFKA_BOOTSTRAP": kafka.bootstrap,
        "S3_ENDPOINT": s3.endpoint,
        "S3_ACCESS_KEY": s3.access_key,
        "S3_SECRET_KEY": s3.secret_key,
        "S3_BUCKET": "processor-test",
        "SPOOL_DIR": str(tmp_path / "spool"),
        "JOBS_LEASE_S": "600",
        "DRAIN_GRACE_S": "3",
        "LOG_LEVEL": "warning",
    }
    environment = {f"CLASSIFEED_PROCESSOR_{name}": value for name, value in environment.items()}
    await prepare(ProcessorSettings(kafka_bootstrap=kafka.bootstrap))
    running: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "classifeed_processor"],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
        )
        running.append(process)
        return process

    processor.start(work=False, results=False)
    yield processor, start
    for process in running:
        if process.poll() is None:
            process.kill()
        await asyncio.to_thread(process.wait, 120)


async def begin(processor: Processor, yml: WriteYml, offer: WriteOffer, tmp_path: Path) -> TaskKey:
    content = yml(*(offer(f"a{n}", price="x" if n % 1000 == 0 else "5") for n in range(OFFERS)))
    return await processor.create(await processor.put(content, tmp_path), secrets.token_hex(4))


async def until(condition: Callable[[], Awaitable[bool]], limit_s: float = 150) -> None:
    async with asyncio.timeout(limit_s):
        while not await condition():
            await asyncio.sleep(0.05)


async def until_window_is_full(processor: Processor) -> None:
    """Batches are in the table before they are sent; a process that is killed in between has sent nothing."""

    async def is_full() -> bool:
        return await asyncio.to_thread(processor.owner.count_requests) == WINDOW_BATCHES

    await until(is_full)


async def check_ended(processor: Processor, key: TaskKey, *, runs: int) -> None:
    task = await processor.wait_end(key, 300)
    assert task.status == SUCCEEDED
    assert processor.owner.runs() == [(key.task_id, number) for number in range(1, runs + 1)]
    statistics = task.statistics
    # Offers that an unfinished run has applied are unchanged in the next run.
    assert (statistics.total, statistics.added + statistics.unchanged) == (OFFERS, OFFERS - 3)
    assert (statistics.rejected_validation, statistics.errors) == (3, 3)
    assert len(processor.owner.offers) == OFFERS - 3
    processor.owner.assert_ends_are_last()


async def test_killed_while_sending_the_next_process_sends_a_new_run(
    processes: Processes, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor, start = processes
    processor.owner.paused.set()
    key = await begin(processor, yml, offer, tmp_path)
    first = start()
    await until_window_is_full(processor)
    first.kill()
    await asyncio.to_thread(first.wait, 120)
    assert len(list((tmp_path / "spool").iterdir())) == 1
    processor.owner.paused.clear()
    async with lost_lease(processor.database, first.pid):
        start()
        await check_ended(processor, key, runs=2)
    assert list((tmp_path / "spool").iterdir()) == []


@in_campaigns
async def test_killed_after_the_last_batch_only_the_end_is_said_again(
    processes: Processes, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor, start = processes
    processor.owner.ignores_ends.set()
    key = await begin(processor, yml, offer, tmp_path)
    first = start()
    await processor.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_SENT, 150)
    first.kill()
    await asyncio.to_thread(first.wait, 120)
    processor.owner.ignores_ends.clear()
    async with lost_lease(processor.database, first.pid):
        start()
        await check_ended(processor, key, runs=1)
    batches = [request.batch_id for request in processor.owner.log if isinstance(request, OfferBatch)]
    assert batches == list(range(1, OFFERS // 100 + 1))


@in_campaigns
async def test_asked_to_stop_it_hands_the_task_back(
    processes: Processes, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor, start = processes
    processor.owner.paused.set()
    key = await begin(processor, yml, offer, tmp_path)
    first = start()
    await until_window_is_full(processor)
    first.terminate()
    assert await asyncio.to_thread(first.wait, 120) == 0
    assert list((tmp_path / "spool").iterdir()) == []
    processor.owner.paused.clear()
    start()
    await check_ended(processor, key, runs=2)


async def test_a_process_that_was_paused_past_its_lease_changes_nothing(
    processes: Processes, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor, start = processes
    processor.owner.paused.set()
    key = await begin(processor, yml, offer, tmp_path)
    first = start()
    await until_window_is_full(processor)
    os.kill(first.pid, signal.SIGSTOP)
    first_run = (await processor.task(key)).run

    async def second_run() -> bool:
        return (await processor.task(key)).run > first_run

    async with lost_lease(processor.database, first.pid):
        start()
        await until(second_run)
    processor.owner.paused.clear()
    os.kill(first.pid, signal.SIGCONT)
    await check_ended(processor, key, runs=2)

    async def has_reply() -> bool:
        return any(stage.stage == "answer" for stage in (await processor.task(key)).statistics.stages)

    await until(has_reply)
    ended = await processor.task(key)
    # The work of the paused process has no effect.
    for _ in range(20):
        assert await processor.task(key) == ended
        await asyncio.sleep(0.1)

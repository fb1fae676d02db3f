"""Two loader processes: each due feed is fetched once, oldest first; one process takes over from the other."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.task_service_pb2_grpc import add_TaskServiceServicer_to_server
from classifeed_common.auth import KeyStore
from classifeed_common.blobs import BlobStore
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.rpc import StartServer
from classifeed_jobs.testing import lost_lease
from classifeed_loader.app.queue_fetches import TASK

from ...conftest import Page, Site, Tasks
from ..conftest import Loader, MakeSource

pytestmark = pytest.mark.slow
LOADED = feed_pb2.FETCH_OUTCOME_LOADED
FEED = b"<yml_catalog/>"
Start = Callable[..., Awaitable[subprocess.Popen[bytes]]]


@pytest.fixture
async def start(
    loader: Loader,
    tasks: Tasks,
    s3: EmbeddedS3,
    blobs: BlobStore,
    bucket: str,
    keys: KeyStore,
    rpc_server: StartServer,
    tmp_path: Path,
) -> AsyncIterator[Start]:
    """Start loaders; return once each process has a running worker."""
    target = await rpc_server("processor", Servicer.of(add_TaskServiceServicer_to_server, tasks))
    environment = {
        "DSN": loader.database.dsn,
        "HTTP_LISTEN": "127.0.0.1:0",
        "S3_ENDPOINT": s3.endpoint,
        "S3_ACCESS_KEY": s3.access_key,
        "S3_SECRET_KEY": s3.secret_key,
        "S3_BUCKET": bucket,
        "KEYS_DIR": str(tmp_path / "keys"),
        "PROCESSOR_ADDRESS": target,
        "SPOOL_DIR": str(tmp_path / "spool"),
        "ALLOW_LOOPBACK": "true",
        "JOBS_LEASE_S": "600",
        "LEASE_TTL_S": "2",
        "HOST_FIRST_RATE": "1000",
        "HOST_HIGHEST_RATE": "1000",
        "DRAIN_GRACE_S": "3",
        "LOG_LEVEL": "warning",
    }
    running: list[subprocess.Popen[bytes]] = []

    async def begin(**settings: str) -> subprocess.Popen[bytes]:
        named = {f"CLASSIFEED_LOADER_{name}": value for name, value in (environment | settings).items()}
        process = subprocess.Popen(
            [sys.executable, "-m", "classifeed_loader"],
            env={**os.environ, "DL_REAPER_PERIOD_SEC": "0.5", "DL_HEARTBEAT_SEC": "0.5", **named},
            stdin=subprocess.DEVNULL,
        )
        running.append(process)

        async def is_at_work() -> bool:
            assert process.poll() is None
            return bool(await loader.sql("SELECT 1 FROM dl_workers WHERE worker_id LIKE %s", f"%:{process.pid}:%"))

        await until(is_at_work)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        await asyncio.to_thread(process.wait, 120)


async def until(condition: Callable[[], Awaitable[bool]], limit_s: float = 150) -> None:
    async with asyncio.timeout(limit_s):
        while not await condition():
            await asyncio.sleep(0.02)


async def wait_ended(loader: Loader, namespace: str = "default") -> Fetch:
    async def is_ended() -> bool:
        return (await loader.state(namespace)).last_fetch.HasField("end_time")

    await until(is_ended)
    return (await loader.state(namespace)).last_fetch


async def wait_all_succeeded(loader: Loader, count: int) -> None:
    """Wait until the given number of fetches has succeeded; other jobs run hourly."""

    async def have_succeeded() -> bool:
        [[ended]] = await loader.sql("SELECT count(*) FROM dl_jobs_done WHERE task = %s AND status = 'succeeded'", TASK)
        return bool(ended == count)

    await until(have_succeeded)


async def test_two_loaders_fetch_each_feed_once_the_oldest_first(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    names = [f"n{number}" for number in range(40)]
    site.pages |= {f"/{name}.xml": page(FEED) for name in names}
    await asyncio.gather(start(CONCURRENCY="1"), start(CONCURRENCY="1"))
    # Paused, made due in order, and resumed at the same time.
    await loader.put(*(source(namespace=name, url=site.url(f"/{name}.xml"), status=2) for name in names))
    async with loader.database.transaction() as tx:
        await tx.execute(
            "UPDATE feed_loader_task SET status = 1,"
            " next_due_at = clock_timestamp() - (1000 - substr(namespace, 2)::int) * interval '1 second'"
        )

    await wait_all_succeeded(loader, len(names))
    assert sorted(site.paths()) == sorted(f"/{name}.xml" for name in names)
    # In the order of first claims: after it, one of the two processes may be slower, or the host refuses a permit.
    claimed = await loader.sql(
        "SELECT substr(args ->> 'namespace', 2)::int FROM dl_job_events JOIN dl_jobs_done USING (job_id)"
        " WHERE kind = 'picked' AND task = %s GROUP BY args ->> 'namespace' ORDER BY min(event_id)",
        TASK,
    )
    assert len(claimed) == len(names)
    assert all(abs(place - number) <= 2 for place, (number,) in enumerate(claimed))
    assert {len(tasks.made["shop", name]) for name in names} == {1}


@in_campaigns
async def test_a_host_is_asked_by_so_many_of_all_processes_each_for_another_seller(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages |= {f"/{seller}{number}.xml": page(FEED, held=True) for seller in "abc" for number in range(3)}
    await asyncio.gather(start(FETCHES_PER_HOST="2"), start(FETCHES_PER_HOST="2"))
    feeds = [
        source(seller_id=seller, namespace=f"{seller}{number}", url=site.url(f"/{seller}{number}.xml"))
        for seller in "abc"
        for number in range(3)
    ]
    await loader.put(*feeds)

    async def all_have_tried() -> bool:
        [[refused]] = await loader.sql("SELECT count(DISTINCT job_id) FROM dl_job_events WHERE kind = 'snoozed'")
        return bool(refused >= len(feeds) - 2)

    await until(all_have_tried)
    assert len({path[1] for path in site.paths()}) == len(site.requests) == 2

    site.released.set()
    await wait_all_succeeded(loader, len(feeds))
    assert sorted(site.paths()) == sorted(site.pages)
    assert site.most_open == 2


async def test_killed_while_downloading_the_other_one_takes_over(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, held=True)
    await loader.put(source(url=site.url()))
    first = await start()
    await site.requested.wait()
    await start()
    site.requested.clear()
    first.kill()
    await asyncio.to_thread(first.wait, 120)
    async with lost_lease(loader.database, first.pid):
        await loader.sql("UPDATE fetch_hosts SET held = '{}'")  # its permits end with its lease
        await site.requested.wait()
    site.released.set()
    fetch = await wait_ended(loader)
    assert (fetch.outcome, tasks.count(), len(site.requests)) == (LOADED, 1, 2)

    # The remaining process schedules, too.
    await loader.make_due()

    async def is_fetched_again() -> bool:
        return len(await loader.fetches()) == 2

    await until(is_fetched_again)
    assert (await wait_ended(loader)).outcome == feed_pb2.FETCH_OUTCOME_SAME_CONTENT


@in_campaigns
async def test_asked_to_stop_it_hands_the_download_back(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page], tmp_path: Path
) -> None:
    site.pages["/feed.xml"] = page(FEED, held=True)
    await loader.put(source(url=site.url()))
    first = await start(DRAIN_GRACE_S="600")
    await site.requested.wait()
    await start()
    site.requested.clear()
    first.terminate()
    async with asyncio.timeout(120):  # long before the lease or the grace period ends
        await site.requested.wait()
    assert await asyncio.to_thread(first.wait, 120) == 0
    assert len(list((tmp_path / "spool").iterdir())) == 1
    site.released.set()
    fetch = await wait_ended(loader)
    assert (fetch.outcome, tasks.count()) == (LOADED, 1)


async def test_one_that_was_paused_past_its_lease_changes_nothing(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, held=True)
    await loader.put(source(url=site.url()))
    first = await start()
    await site.requested.wait()
    await start()
    site.requested.clear()
    os.kill(first.pid, signal.SIGSTOP)
    async with lost_lease(loader.database, first.pid):
        await loader.sql("UPDATE fetch_hosts SET held = '{}'")  # its permits end with its lease
        await site.requested.wait()
    site.released.set()
    ended = await wait_ended(loader)
    assert (ended.outcome, tasks.count()) == (LOADED, 1)
    await stays(loader, tasks, first, ended)


@in_campaigns
async def test_one_that_was_paused_before_the_end_does_not_write_it_again(
    start: Start, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    tasks.held = asyncio.Event()
    await loader.put(source(url=site.url()))
    first = await start()

    async def is_requested() -> bool:
        return bool(tasks.requests)

    await until(is_requested)
    await start()
    os.kill(first.pid, signal.SIGSTOP)
    of_the_first = len(tasks.requests)  # it retries calls without a response

    async def is_requested_again() -> bool:
        return len(tasks.requests) > of_the_first

    async with lost_lease(loader.database, first.pid):
        await until(is_requested_again)
    tasks.held.set()
    ended = await wait_ended(loader)
    assert (ended.outcome, tasks.count(), len(site.requests)) == (LOADED, 1, 1)
    await stays(loader, tasks, first, ended)


async def stays(loader: Loader, tasks: Tasks, paused: subprocess.Popen[bytes], ended: Fetch) -> None:
    """Check that a process that was paused changes nothing after it resumes."""
    os.kill(paused.pid, signal.SIGCONT)
    for _ in range(20):
        assert ((await loader.state()).last_fetch, tasks.count()) == (ended, 1)
        await asyncio.sleep(0.1)
    assert paused.poll() is None

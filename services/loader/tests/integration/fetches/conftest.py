from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest, SourceRecord
from classifeed.feeds.v1.task_service_pb2_grpc import add_TaskServiceServicer_to_server
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.fetch import AddressGuard, FetchLimits
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostPolicy, OwnerLimits
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_jobs import Reaper, Task, Worker
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.app.queue_fetches import QUEUE
from classifeed_loader.clients.processor import ProcessorClient

from ...conftest import Page, Site, Tasks
from ..conftest import JOB_TASKS, MIN_INTERVAL_S, Loader, make_source

FEED = b"<yml_catalog/>"


def new_fetcher(permits: OwnerLimits | None = None, **limits: Any) -> Fetcher:
    fetch_limits = FetchLimits(disk_reserve_bytes=0, **limits)
    return Fetcher(guard=AddressGuard(allow_loopback=True), limits=fetch_limits, permits=permits)


@dataclass
class Scene(Loader):
    """A loader whose worker downloads from a site, stores in an object store and has a fake processor."""

    site: Site
    tasks: Tasks
    dependencies: FetchDependencies
    cipher: CredentialCipher
    permits: OwnerLimits
    fetchers: list[Fetcher]
    concurrency: int = 4
    job_tasks: Mapping[str, Task] = field(default_factory=lambda: JOB_TASKS)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _running: list[asyncio.Task[None]] = field(default_factory=list)

    def serve(self, content: bytes = FEED, path: str = "/feed.xml", **fields: Any) -> None:
        """Let the site respond with this page."""
        self.site.pages[path] = Page(content, **fields)

    def feed(self, path: str = "/feed.xml", host: str = "127.0.0.1", **fields: Any) -> SourceRecord:
        """Return a source for a page of the site."""
        return make_source(url=self.site.url(path, host), **fields)

    def use(self, **parts: Any) -> None:
        """Replace dependencies of the worker."""
        self.dependencies = replace(self.dependencies, **parts)

    def limit_downloads(self, permits: OwnerLimits | None = None, **limits: Any) -> None:
        """Replace the downloader by one with these limits."""
        self.fetchers.append(new_fetcher(permits, **limits))
        self.use(downloader=self.fetchers[-1])

    def start(self) -> None:
        """Start the worker."""
        self._stop = asyncio.Event()
        worker = Worker(
            self.database,
            self.jobs,
            self.job_tasks,
            queues={QUEUE: self.concurrency},
            resources=self.dependencies,
            heartbeat_s=1,
            claim_backoff_s=0.5,
            drain_grace_s=1,
        )
        reaper = Reaper(self.database, JOB_TASKS, reaper_period_s=0.5)
        self._running = [asyncio.create_task(worker.run(self._stop)), asyncio.create_task(reaper.run(self._stop))]

    async def start_feed(self, path: str = "/feed.xml", **fields: Any) -> None:
        """Start the worker, and put a source for a page of the site."""
        self.start()
        await self.put(self.feed(path, **fields))

    async def stop(self) -> None:
        self._stop.set()
        running, self._running = self._running, []
        await asyncio.gather(*running)

    async def close(self) -> None:
        await self.stop()
        for fetcher in self.fetchers:
            await fetcher.close()
        await self.permits.close()

    async def wait(self, name: str, limit_s: float = 120) -> Fetch:
        """Return the fetch once it is completed."""
        async with asyncio.timeout(limit_s):
            while True:
                fetch = await self.stub.GetFetch(GetFetchRequest(name=name))
                if fetch.HasField("end_time"):
                    return fetch
                for task in self._running:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.02)

    async def scheduled(self, namespace: str = "default") -> Fetch:
        """Make a source due and return its completed fetch."""
        await self.make_due(namespace)
        assert await self.schedule() == 1
        [newest, *_] = await self.fetches(namespace)
        return await self.wait(newest.name)

    async def requested(self, *, force: bool = False, **fields: Any) -> Fetch:
        """Request a fetch of the feed and return it once it is completed."""
        return await self.wait((await self.run(self.feed(**fields), force=force)).name)

    async def settled(self) -> None:
        """Wait until no job is left."""
        await self.until_found("SELECT 1 WHERE NOT EXISTS (SELECT FROM dl_jobs)")

    async def until_found(self, statement: str) -> None:
        """Wait until the statement returns a row."""

        async def is_found() -> bool:
            return bool(await self.sql(statement))

        await until(is_found)


@pytest.fixture
async def scene(
    loader: Loader,
    site: Site,
    tasks: Tasks,
    blobs: BlobStore,
    rpc_server: StartServer,
    rpc_channel: OpenChannel,
    tmp_path: Path,
) -> AsyncIterator[Scene]:
    target = await rpc_server("processor", Servicer.of(add_TaskServiceServicer_to_server, tasks))
    permits = OwnerLimits(loader.database, HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=2, max_wait_s=0.1))
    fetcher = new_fetcher(permits, max_bytes=1 << 20, connect_s=60, read_s=60, total_s=120)
    cipher = CredentialCipher([secrets.token_bytes(32)])
    dependencies = FetchDependencies(
        downloader=fetcher,
        blobs=blobs,
        refs=BlobRefs(),
        tasks=ProcessorClient(rpc_channel(target, caller="loader", audience="processor")),
        cipher=cipher,
        spool_dir=tmp_path / "spool",
        min_interval_s=MIN_INTERVAL_S,
        backoff_base_s=60,
        history_fetches=200,
    )
    scene = Scene(
        **vars(loader),
        site=site,
        tasks=tasks,
        dependencies=dependencies,
        cipher=cipher,
        permits=permits,
        fetchers=[fetcher],
    )
    yield scene
    await scene.close()
    assert list((tmp_path / "spool").glob("*")) == []

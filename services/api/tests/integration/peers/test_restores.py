"""The databases of loader, processor and api are restored from backups, one at a time, with real services."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, task_pb2
from classifeed.feeds.v1.feed_source_service_pb2_grpc import add_FeedSourceServiceServicer_to_server
from classifeed.feeds.v1.task_service_pb2 import GetTaskRequest, ListTasksRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.databases import DatabaseServer, MigratedDatabase
from classifeed_devkit.testing.rpc import StartServer
from classifeed_jobs import JobStore
from classifeed_loader.rpc.feed_source_service import FeedSourceService
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.rpc.task_service import task_servicer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ACTIVE, PAUSED, REMOVED = feed_pb2.FEED_STATUS_ACTIVE, feed_pb2.FEED_STATUS_PAUSED, feed_pb2.FEED_STATUS_REMOVED
LIMIT_S = 120
ADVICE = "Create each feed again (CreateFeed), and delete it if it is not needed. The first are: "


def name_of(namespace: str) -> str:
    return f"sellers/shop/feeds/{namespace}"


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def id_of(namespace: str, content: bytes = b"") -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, namespace + digest_of(content)))


def is_true(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return condition()

    return check


class Suite:
    """The api with all its roles, and the real services that it calls, on real databases."""

    def __init__(self, api: Any, databases: dict[str, Database], server: DatabaseServer) -> None:
        self.api = api
        self.stub = api.stub
        self.databases = databases
        self._server = server
        self.uploads: list[str] = []
        self._backups: dict[str, str] = {}

    def back_up(self) -> None:
        for service, database in self.databases.items():
            self._backups[service] = self._server.back_up(database.dsn)

    def restore(self, service: str) -> None:
        self._server.restore(self.databases[service].dsn, self._backups[service])

    async def create(self, namespace: str) -> bool:
        settings = feed_pb2.FeedSettings(source=feed_pb2.FeedSource(url="https://shop.example/feed.yml"))
        request = feed_service_pb2.CreateFeedRequest(
            parent="sellers/shop", namespace=namespace, settings=settings, request_id=id_of(namespace)
        )
        await self.stub.CreateFeed(request)
        return True

    async def pause(self, namespace: str) -> bool:
        await self.stub.PauseFeed(feed_service_pb2.PauseFeedRequest(name=name_of(namespace)))
        return True

    async def delete(self, namespace: str) -> bool:
        await self.stub.DeleteFeed(feed_service_pb2.DeleteFeedRequest(name=name_of(namespace)))
        return True

    async def upload(self, namespace: str, content: bytes) -> bool:
        async def parts() -> AsyncIterator[feed_service_pb2.UploadFeedRequest]:
            spec = feed_service_pb2.UploadSpec(
                seller_id="shop", namespace=namespace, size_bytes=len(content), request_id=id_of(namespace, content)
            )
            yield feed_service_pb2.UploadFeedRequest(spec=spec)
            yield feed_service_pb2.UploadFeedRequest(chunk=content)

        self.uploads.append((await self.stub.UploadFeed(parts())).name)
        return True

    async def sources(self) -> dict[str, int]:
        """Return the status of each feed at the loader."""
        async with await psycopg.AsyncConnection.connect(self.databases["loader"].dsn) as connection:
            rows = await connection.execute("SELECT namespace, status FROM loader.feed_loader_task")
            return dict(await rows.fetchall())

    async def made_for(self, namespace: str) -> list[str]:
        """Return the purposes of the tasks of a namespace, oldest first: a file's digest, or DELETE."""
        tasks = await self.tasks(namespace)
        return ["DELETE" if task.kind == task_pb2.TASK_KIND_DELETE else task.source_sha256 for task in tasks]

    async def tasks(self, namespace: str) -> list[task_pb2.Task]:
        listed = await self.stub.ListTasks(ListTasksRequest(parent=name_of(namespace)))
        return list(reversed(listed.tasks))

    async def status(self, namespace: str) -> int:
        feed = await self.stub.GetFeed(feed_service_pb2.GetFeedRequest(name=name_of(namespace)))
        return int(feed.status)

    def named(self) -> str:
        return " ".join(self.api.runner.blocked.get("verify-feeds", {}).values())

    async def until(self, condition: Callable[[], Awaitable[object]]) -> float:
        """Return the seconds until a condition holds; calls that a restored database cuts off are retried."""
        began_s = time.monotonic()
        async with asyncio.timeout(LIMIT_S):
            while True:
                try:
                    if await condition():
                        return time.monotonic() - began_s
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                await asyncio.sleep(0.05)


@pytest.fixture
async def suite(
    db: Database,
    migrated_database: MigratedDatabase,
    database_server: DatabaseServer,
    rpc_server: StartServer,
    start_api: Callable[..., Awaitable[Any]],
    blobs: BlobStore,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Suite:
    monkeypatch.setattr("classifeed_api.parts.roles._VERIFY_INTERVAL_S", 0.5)
    loader, processor = await migrated_database("classifeed_loader"), await migrated_database("classifeed_processor")
    jobs, locate_offer = JobStore(), LocateOffer(processor, blobs, tmp_path / "located")
    sources = FeedSourceService(loader, jobs, min_interval_s=60)
    tasks = task_servicer(
        processor, jobs, blobs, ExportIssues(ReadIssues(processor, blobs), tmp_path / "exported"), locate_offer
    )
    api = await start_api(
        loader_address=await rpc_server("loader", Servicer.of(add_FeedSourceServiceServicer_to_server, sources)),
        processor_address=await rpc_server("processor", tasks),
    )
    return Suite(api, {"loader": loader, "processor": processor, "api": db}, database_server)


async def test_what_a_restored_neighbour_or_the_api_itself_has_lost_is_there_again_or_named(suite: Suite) -> None:
    async def has_all() -> bool:
        made = {namespace: await suite.made_for(namespace) for namespace in expected_tasks}
        return (await suite.sources(), made) == (expected_sources, expected_tasks)

    first, second, third = (f"<yml_catalog>{n}</yml_catalog>".encode() for n in range(3))
    for namespace in ("paused", "removed"):
        await suite.create(namespace)
    await suite.upload("files", first)
    expected_sources = {"paused": ACTIVE, "removed": ACTIVE}
    expected_tasks = {"files": [digest_of(first)], "removed": []}
    await suite.until(has_all)
    suite.back_up()

    await suite.until(lambda: suite.pause("paused"))
    await suite.until(lambda: suite.delete("removed"))
    await suite.until(lambda: suite.create("created"))
    await suite.until(lambda: suite.upload("files", second))
    await suite.until(lambda: suite.upload("more", third))
    expected_sources = {"paused": PAUSED, "removed": REMOVED, "created": ACTIVE}
    expected_tasks = {
        "files": [digest_of(first), digest_of(second)],
        "removed": ["DELETE"],
        "more": [digest_of(third)],
    }
    await suite.until(has_all)

    suite.restore("loader")
    print(f"loader restored: it knows the feeds again after {await suite.until(has_all):.1f} s")  # noqa: T201

    lost = [task.name for task in (await suite.tasks("files"))[1:] + await suite.tasks("more")]
    suite.restore("processor")
    print(f"processor restored: the tasks are there again after {await suite.until(has_all):.1f} s")  # noqa: T201
    found = [task.name for task in (await suite.tasks("files"))[1:] + await suite.tasks("more")]
    assert not set(found) & set(lost), "no number is used twice"

    async def name_their_tasks() -> bool:
        """Return whether each upload names its new task; it does so shortly after the task exists."""
        for name in suite.uploads:
            upload = await suite.stub.GetUpload(feed_service_pb2.GetUploadRequest(name=name))
            try:
                task = await suite.stub.GetTask(GetTaskRequest(name=upload.task))
            except grpc.aio.AioRpcError as error:
                assert error.code() in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT}
                return False
            if task.source_sha256 != upload.sha256:
                return False
        return True

    await suite.until(name_their_tasks)
    assert not suite.named()

    suite.restore("api")
    await suite.until(has_all)
    await suite.until(is_true(lambda: "and uses them: 2. Check the settings" in suite.named()))
    assert f"the loader fetches feeds that are unknown here: 1. {ADVICE}{name_of('created')}" in suite.named()
    assert await suite.status("paused") == ACTIVE, "the settings are those of the backup; the line says so"
    assert name_of("paused") in suite.named()
    # Follow the advice: a feed that was created after the backup is created again.
    await suite.until(lambda: suite.pause("paused"))
    await suite.until(lambda: suite.delete("removed"))
    await suite.until(lambda: suite.create("created"))
    await suite.until(lambda: suite.upload("files", third))
    expected_tasks["files"].append(digest_of(third))
    expected_tasks["removed"].append("DELETE")
    await suite.until(has_all)
    await suite.until(is_true(lambda: not suite.named()))
    assert [await suite.status(namespace) for namespace in ("paused", "created")] == [PAUSED, ACTIVE]

"""A task has its own file, which does not depend on the file that it was created from.

This file is also the process that a test kills: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_common.blobs import BlobMissing, BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.dying_store import DyingStore, run_until_killed
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_devkit.testing.stores import make_store
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.app.tasks.create_task import create_task, keep_source
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.task_service import task_servicer

NO_GRACE_S = -5.0


@pytest.fixture
def bucket() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def store_of(s3: EmbeddedS3, bucket: str) -> AsyncIterator[Callable[[str], BlobStore]]:
    made: list[BlobStore] = []

    def make(owner: str) -> BlobStore:
        made.append(make_store(s3, bucket, owner))
        return made[-1]

    await make("").open()
    yield make
    for store in made:
        await store.close()


class Flaky(BlobStore):
    """The processor's files; while `is_away`, nothing can be stored."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self.is_away = False

    async def keep(self, sha256: str) -> None:
        if self.is_away:
            raise Unavailable("OBJECT_STORE_UNAVAILABLE", "away")
        await self._blobs.keep(sha256)


Service = tuple[Database, BlobStore, Flaky, TaskServiceStub]


@pytest.fixture
async def service(
    migrated_database: MigratedDatabase,
    rpc_server: StartServer,
    rpc_channel: OpenChannel,
    store_of: Callable[[str], BlobStore],
    tmp_path: Path,
) -> Service:
    database = await migrated_database("classifeed_processor", "processor")
    own = store_of("processor")
    flaky = Flaky(own)
    servicer = task_servicer(
        database,
        JobStore(),
        flaky,
        ExportIssues(ReadIssues(database, own), tmp_path / "spool"),
        LocateOffer(database, own, tmp_path / "spool"),
    )
    target = await rpc_server("processor", servicer)
    stub = TaskServiceStub(rpc_channel(target, caller="api", audience="processor"))
    return database, own, flaky, stub


@pytest.fixture
async def uploaded(store_of: Callable[[str], BlobStore], tmp_path: Path) -> tuple[BlobStore, str]:
    content = uuid.uuid4().bytes
    (tmp_path / "file").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    api = store_of("api")
    await api.put_file(tmp_path / "file", sha256)
    return api, sha256


def request(sha256: str) -> CreateTaskRequest:
    return CreateTaskRequest(
        kind=task_pb2.TASK_KIND_LOAD, seller_id="shop", namespace="default", upload_id="u1", source_sha256=sha256
    )


async def test_a_task_that_waits_keeps_its_file_when_the_upload_s_is_deleted(
    service: Service, uploaded: tuple[BlobStore, str], tmp_path: Path
) -> None:
    database, own, _, stub = service
    api, sha256 = uploaded
    task = await stub.CreateTask(request(sha256))
    await api.delete(sha256)
    assert await BlobRefs().sweep(database, own, grace_s=NO_GRACE_S) == 0
    assert await own.fetch(sha256, tmp_path / "back") == 16
    async with database.transaction() as tx:
        await BlobRefs().drop(tx, TaskKey.parse(task.name).blob_ref)
    assert await BlobRefs().sweep(database, own, grace_s=NO_GRACE_S) == 1
    with pytest.raises(BlobMissing):
        await own.fetch(sha256, tmp_path / "gone")


async def test_nobody_is_told_of_a_task_whose_file_is_not_kept_yet(
    service: Service, uploaded: tuple[BlobStore, str]
) -> None:
    _, own, flaky, stub = service
    _, sha256 = uploaded
    flaky.is_away = True
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateTask(request(sha256), timeout=2)
    assert caught.value.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
    assert await own.list_own() == []
    flaky.is_away = False
    first = await stub.CreateTask(request(sha256))
    assert first == await stub.CreateTask(request(sha256))
    assert await own.list_own() == [sha256]


async def create_and_die(settings: dict[str, str]) -> None:
    """Do what CreateTask does, up to the step at which its process is killed."""
    database = Database(settings["dsn"], schema="processor", application_name="dying")
    await database.open()
    options = {name: settings[name] for name in ("endpoint", "access_key", "secret_key", "bucket")}
    blobs = DyingStore(is_file_there=bool(settings["is_file_there"]), owner="processor", **options)
    await create_task(database, JobStore(), request(settings["sha256"]), timeout_s=60)
    await keep_source(blobs, request(settings["sha256"]))


@pytest.mark.parametrize("is_file_there", [False, True])
async def test_killed_beside_the_copy_of_its_file_the_next_request_makes_it_good(
    service: Service, uploaded: tuple[BlobStore, str], s3: EmbeddedS3, bucket: str, tmp_path: Path, is_file_there: bool
) -> None:
    database, own, _, stub = service
    api, sha256 = uploaded
    settings = {"dsn": database.dsn, "endpoint": s3.endpoint, "access_key": s3.access_key, "secret_key": s3.secret_key}
    settings |= {"bucket": bucket, "sha256": sha256}
    await run_until_killed(__file__, settings | {"is_file_there": is_file_there})
    assert await BlobRefs().sweep(database, own, grace_s=NO_GRACE_S) == 0
    assert await own.list_own() == ([sha256] if is_file_there else [])
    # The caller does not know the task yet, so it still has the file, and the task reads that file until then.
    assert await own.fetch(sha256, tmp_path / "early") == 16
    task = await stub.CreateTask(request(sha256))
    async with database.transaction() as tx:
        cursor = await tx.execute("SELECT count(*) FROM tasks")
        assert await cursor.fetchone() == (1,)
    await api.delete(sha256)
    assert await own.list_own() == [sha256]
    assert await own.fetch(sha256, tmp_path / "late") == 16
    # The only reference is deleted with the task, and the file with the reference.
    async with database.transaction() as tx:
        await BlobRefs().drop(tx, TaskKey.parse(task.name).blob_ref)
    assert await BlobRefs().sweep(database, own, grace_s=NO_GRACE_S) == 1
    assert await own.list_own() == []


async def test_a_task_whose_file_is_nowhere_is_made_and_says_so_later(service: Service) -> None:
    _, _, _, stub = service
    assert (await stub.CreateTask(request("e" * 64))).task_id > 0


if __name__ == "__main__":
    asyncio.run(create_and_die(json.loads(sys.argv[1])))

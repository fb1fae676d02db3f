"""UploadFeed over real gRPC: pieces in order, whole files only, tasks asked of the processor."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from classifeed.feeds.v1 import feed_service_pb2, task_pb2, task_service_pb2
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub, add_FeedServiceServicer_to_server
from classifeed.feeds.v1.task_service_pb2_grpc import (
    TaskServiceServicer,
    TaskServiceStub,
    add_TaskServiceServicer_to_server,
)
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.rpc.feed_service import FeedService
from classifeed_api.settings import ApiSettings
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.embedded.s3 import EmbeddedS3
from classifeed_common.rpc.server import Servicer
from classifeed_common.testing.databases import MigratedDatabase
from classifeed_common.testing.rpc import OpenChannel, StartServer

CONTENT = b"<yml_catalog>" + b"x" * 100_000 + b"</yml_catalog>"


class Processor(TaskServiceServicer):
    """The processor at the other end of the wire: a task that moves at each look."""

    def __init__(self) -> None:
        self.looks = 0

    async def GetTask(self, request: task_service_pb2.GetTaskRequest, context: object) -> task_pb2.Task:
        self.looks += 1
        ended = self.looks >= 5
        task = task_pb2.Task(name=request.name, status="TASK_STATUS_SUCCEEDED" if ended else "TASK_STATUS_IN_PROGRESS")
        task.statistics.total = self.looks // 2
        return task


@pytest.fixture
async def db(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_api")


@pytest.fixture
async def feeds(
    db: Database, s3: EmbeddedS3, rpc_server: StartServer, rpc_channel: OpenChannel, tmp_path: Path
) -> AsyncIterator[FeedServiceStub]:
    blobs = BlobStore(
        endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=f"t-{uuid.uuid4().hex[:12]}"
    )
    await blobs.open()
    target = await rpc_server("processor", Servicer.of(add_TaskServiceServicer_to_server, Processor()))
    tasks = TaskServiceStub(rpc_channel(target, caller="api", audience="processor"))
    spool = tmp_path / "spool"
    spool.mkdir()
    settings = ApiSettings(processor_address="127.0.0.1:1", spool_dir=spool, upload_limit_bytes=200_000)
    service = FeedService(settings, db, StoreUpload(db, blobs, BlobRefs()), tasks)
    own = await rpc_server("api", Servicer.of(add_FeedServiceServicer_to_server, service))
    yield FeedServiceStub(rpc_channel(own, caller="operator", audience="api"))
    assert list(spool.iterdir()) == [], "nothing stays in the spool"
    await blobs.close()


Parts = AsyncIterator[feed_service_pb2.UploadFeedRequest]


async def parts(content: bytes = CONTENT, *, spec_first: bool = True, **fields: object) -> Parts:
    spec = feed_service_pb2.UploadFeedRequest(
        spec=feed_service_pb2.UploadSpec(**{"seller_id": "shop", "size_bytes": len(CONTENT), **fields})
    )
    if spec_first:
        yield spec
    for at in range(0, len(content), 30_000):
        yield feed_service_pb2.UploadFeedRequest(chunk=content[at : at + 30_000])
    if not spec_first:
        yield spec


async def refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str, list[str]]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    status = rpc_status.from_call(caught.value)
    reason, fields = "", []
    for detail in status.details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad):
            fields = [violation.field for violation in bad.field_violations]
    return caught.value.code(), reason, fields


async def count_uploads(db: Database) -> int:
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT count(*) FROM uploads")
        return (await cursor.fetchone())[0]


async def test_file_in_pieces_becomes_an_upload(feeds: FeedServiceStub) -> None:
    upload = await feeds.UploadFeed(parts(file_name="price.yml"))
    assert (upload.bytes, upload.namespace, upload.file_name, upload.task) == (len(CONTENT), "default", "price.yml", "")
    assert await feeds.GetUpload(feed_service_pb2.GetUploadRequest(name=upload.name)) == upload


@pytest.mark.parametrize(
    ("make", "reason", "field"),
    [
        (lambda: parts(CONTENT[:50_000]), "UPLOAD_CUT_OFF", "spec.size_bytes"),
        (lambda: parts(sha256="0" * 64), "UPLOAD_DAMAGED", "spec.sha256"),
        (lambda: parts(spec_first=False), "UPLOAD_OUT_OF_ORDER", "part"),
        (lambda: parts(b"", size_bytes=0, namespace="manual"), "NAMESPACE_RESERVED", "spec.namespace"),
        (lambda: parts(b"", size_bytes=0, namespace="parsed.x"), "NAMESPACE_RESERVED", "spec.namespace"),
        (lambda: parts(seller_id="../etc"), "REQUEST_INVALID", "spec.seller_id"),
        (lambda: parts(namespace="Летний"), "REQUEST_INVALID", "spec.namespace"),
    ],
)
async def test_wrong_upload_is_refused_by_its_field_and_leaves_nothing(
    feeds: FeedServiceStub, db: Database, make: Callable[[], Parts], reason: str, field: str
) -> None:
    assert await refusal(feeds.UploadFeed(make())) == (grpc.StatusCode.INVALID_ARGUMENT, reason, [field])
    assert await count_uploads(db) == 0


async def test_too_large_a_file_is_refused_on_the_way(feeds: FeedServiceStub, db: Database) -> None:
    code, reason, _ = await refusal(feeds.UploadFeed(parts(b"x" * 300_000, size_bytes=300_000)))
    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "UPLOAD_TOO_LARGE")
    assert await count_uploads(db) == 0


async def test_watch_sends_each_change_once_and_ends_with_the_task(feeds: FeedServiceStub) -> None:
    request = task_service_pb2.GetTaskRequest(name="sellers/shop/feeds/default/tasks/1")
    seen = [(task.status, task.statistics.total) async for task in feeds.WatchTask(request)]
    running, ended = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_SUCCEEDED
    assert seen == [(running, 0), (running, 1), (running, 2), (ended, 2)]
    assert len(set(seen)) == len(seen)


async def test_unknown_upload_is_not_found(feeds: FeedServiceStub) -> None:
    name = f"uploads/{uuid.uuid4()}"
    code, reason, _ = await refusal(feeds.GetUpload(feed_service_pb2.GetUploadRequest(name=name)))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "UPLOAD_NOT_FOUND")
    code, reason, _ = await refusal(feeds.GetUpload(feed_service_pb2.GetUploadRequest(name="uploads/" + "-" * 36)))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UPLOAD_NAME_INVALID")

"""UploadFeed over real gRPC: pieces in order, complete files only, tasks created at the processor."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import feed_service_pb2, task_pb2, task_service_pb2
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM
from classifeed_common.db import Database

CONTENT = b"<yml_catalog>" + b"x" * 100_000 + b"</yml_catalog>"
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]


@pytest.fixture
async def feeds(api: Any) -> AsyncIterator[FeedServiceStub]:
    yield api.stub
    assert list(api.spool.iterdir()) == [], "nothing stays in the spool"


Parts = AsyncIterator[feed_service_pb2.UploadFeedRequest]


async def parts(content: bytes = CONTENT, *, spec_first: bool = True, **fields: Any) -> Parts:
    spec = feed_service_pb2.UploadFeedRequest(
        spec=feed_service_pb2.UploadSpec(**{"seller_id": "shop", "size_bytes": len(CONTENT), **fields})
    )
    if spec_first:
        yield spec
    for at in range(0, len(content), 30_000):
        yield feed_service_pb2.UploadFeedRequest(chunk=content[at : at + 30_000])
    if not spec_first:
        yield spec


async def count_uploads(db: Database) -> int:
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT count(*) FROM uploads")
        [(uploads,)] = await cursor.fetchall()
    return int(uploads)


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
        (lambda: parts(default_currency="rub"), "REQUEST_INVALID", "spec.default_currency"),
        (lambda: parts(default_currency="QQQ"), "FEED_SETTINGS_INVALID", "spec.default_currency"),
    ],
)
async def test_wrong_upload_is_refused_by_its_field_and_leaves_nothing(
    feeds: FeedServiceStub, refusal: Refusal, db: Database, make: Callable[[], Parts], reason: str, field: str
) -> None:
    assert await refusal(feeds.UploadFeed(make())) == (grpc.StatusCode.INVALID_ARGUMENT, reason, [field])
    assert await count_uploads(db) == 0


async def test_too_large_a_file_is_refused_on_the_way(feeds: FeedServiceStub, refusal: Refusal, db: Database) -> None:
    code, reason, _ = await refusal(feeds.UploadFeed(parts(b"x" * 300_000, size_bytes=300_000)))
    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "UPLOAD_TOO_LARGE")
    assert await count_uploads(db) == 0


async def test_watch_sends_each_change_once_and_ends_with_the_task(feeds: FeedServiceStub) -> None:
    request = task_service_pb2.GetTaskRequest(name="sellers/shop/feeds/default/tasks/1")
    seen = [(task.status, task.statistics.total) async for task in feeds.WatchTask(request)]
    running, ended = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_SUCCEEDED
    assert seen == [(running, 0), (running, 1), (running, 2), (ended, 2)]
    assert len(set(seen)) == len(seen)


async def test_decision_is_the_processor_s(feeds: FeedServiceStub, refusal: Refusal) -> None:
    name = "sellers/shop/feeds/default/tasks/1"
    confirmed = await feeds.ConfirmTask(task_service_pb2.ConfirmTaskRequest(name=name))
    assert (confirmed.name, confirmed.decision) == (name, HOLD_DECISION_CONFIRM)
    rejecting = feeds.RejectTask(task_service_pb2.RejectTaskRequest(name=name))
    assert await refusal(rejecting) == (grpc.StatusCode.FAILED_PRECONDITION, "TASK_NOT_HELD", [])


@pytest.mark.parametrize("processor_hangs", [False, True], ids=["between two looks", "while the processor is asked"])
async def test_watch_ends_when_the_api_begins_to_stop(
    start_api: Callable[..., Awaitable[Any]],
    refusal: Refusal,
    monkeypatch: pytest.MonkeyPatch,
    processor_hangs: bool,
) -> None:
    """The grace period is longer than any test, so a watch that did not end early would fail it."""
    if not processor_hangs:
        monkeypatch.setattr("classifeed_api.rpc.feed_service.tasks._WATCH_INTERVAL_S", 3600)
    api = await start_api(roles={"serve"}, drain_grace_s=600)
    api.processor.looks = -1_000_000_000
    watch = api.stub.WatchTask(task_service_pb2.GetTaskRequest(name="sellers/shop/feeds/default/tasks/1"))
    assert (await watch.read()).status == task_pb2.TASK_STATUS_IN_PROGRESS
    if processor_hangs:
        api.processor.hangs = asyncio.Event()
        await api.processor.hangs.wait()

    async def rest() -> None:
        while (task := await watch.read()) is not grpc.aio.EOF:
            assert task.status == task_pb2.TASK_STATUS_IN_PROGRESS

    api.stop.set()
    async with asyncio.timeout(60):
        assert await refusal(rest()) == (grpc.StatusCode.UNAVAILABLE, "DRAINING", [])


async def test_export_of_issues_is_passed_on_piece_by_piece(feeds: FeedServiceStub, refusal: Refusal) -> None:
    request = task_service_pb2.ExportOfferErrorsRequest(
        parent="sellers/shop/feeds/default/tasks/1", format=task_service_pb2.EXPORT_FORMAT_CSV, code="A"
    )
    assert [(piece.content, piece.issues) async for piece in feeds.ExportOfferErrors(request)] == [
        (b"A0", 0), (b"A1", 1), (b"A2", 2),
    ]  # fmt: skip
    request.code = "GONE"
    code, reason, _ = await refusal(feeds.ExportOfferErrors(request).read())
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ISSUES_GONE")


async def test_unknown_upload_is_not_found(feeds: FeedServiceStub, refusal: Refusal) -> None:
    name = f"uploads/{uuid.uuid4()}"
    code, reason, _ = await refusal(feeds.GetUpload(feed_service_pb2.GetUploadRequest(name=name)))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "UPLOAD_NOT_FOUND")
    code, reason, _ = await refusal(feeds.GetUpload(feed_service_pb2.GetUploadRequest(name="uploads/" + "-" * 36)))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UPLOAD_NAME_INVALID")

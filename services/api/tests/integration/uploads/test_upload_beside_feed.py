"""An upload that the next load of a link would undo is refused, unless it is forced."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1.feed_pb2 import FeedSettings, FeedSource
from classifeed.feeds.v1.feed_service_pb2 import (
    CreateFeedRequest,
    DeleteFeedRequest,
    PauseFeedRequest,
    UploadFeedRequest,
    UploadSpec,
)
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.create_feed import CreateFeed
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.domain.feed_settings import Limits
from classifeed_api.domain.uploads import NewUpload
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition

NAME = "sellers/shop/feeds/default"
SETTINGS = FeedSettings(source=FeedSource(url="https://shop.example/feed.yml"))
CONTENT = b"<yml_catalog/>"
REFUSED: tuple[grpc.StatusCode, str, list[str]] = (grpc.StatusCode.FAILED_PRECONDITION, "NAMESPACE_HAS_FEED", [])
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]


async def parts(sent: list[bytes] | None = None, **fields: Any) -> AsyncIterator[UploadFeedRequest]:
    yield UploadFeedRequest(spec=UploadSpec(seller_id="shop", **fields))
    if sent is not None:
        await asyncio.Event().wait()  # a sender that is refused at the spec stops sending bytes
    yield UploadFeedRequest(chunk=CONTENT)


class AnyFormat(CheckFormat):
    """Accepts any format, as the check does while the processor is unavailable."""

    def __init__(self) -> None:
        """Need no processor."""

    async def __call__(self, given: str, *, field: str) -> None:
        """Accept any format."""


async def create(api: Any) -> None:
    await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", settings=SETTINGS))


async def count(db: Database, table: str) -> int:
    async with db.transaction() as tx:
        cursor = await tx.execute(f"SELECT count(*) FROM {table}")
        [(rows,)] = await cursor.fetchall()
    return int(rows)


async def test_upload_is_refused_before_its_bytes_while_there_is_a_feed(
    api: Any, refusal: Refusal, db: Database
) -> None:
    await create(api)
    assert await refusal(api.stub.UploadFeed(parts([]), timeout=90)) == REFUSED
    await api.stub.PauseFeed(PauseFeedRequest(name=NAME))
    assert await refusal(api.stub.UploadFeed(parts([]), timeout=90)) == REFUSED
    assert await count(db, "uploads") == 0
    await api.stub.UploadFeed(parts(namespace="other"))
    await api.stub.UploadFeed(parts(force=True))
    await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME))
    await api.stub.UploadFeed(parts())
    assert await count(db, "uploads") == 3


@pytest.mark.parametrize(("link", "upload"), [("PATCH", "REPLACE"), ("PATCH", "PATCH"), ("REPLACE", "PATCH")])
async def test_upload_that_no_load_of_the_link_undoes_is_taken(api: Any, db: Database, link: str, upload: str) -> None:
    settings = FeedSettings(source=SETTINGS.source, mode=f"LOAD_MODE_{link}")
    await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", settings=settings))
    await api.stub.UploadFeed(parts(mode=f"LOAD_MODE_{upload}"))
    assert await count(db, "uploads") == 1


async def test_refusal_says_why_and_what_to_do(api: Any) -> None:
    await create(api)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await api.stub.UploadFeed(parts())
    words = refused.value.details() or ""
    assert "replaces all offers" in words
    assert "upload in the mode PATCH" in words


async def test_upload_that_was_taken_before_the_feed_is_answered_again(api: Any, refusal: Refusal) -> None:
    request_id = str(uuid.uuid4())
    upload = await api.stub.UploadFeed(parts(request_id=request_id))
    await create(api)
    assert await api.stub.UploadFeed(parts(request_id=request_id)) == upload
    assert await refusal(api.stub.UploadFeed(parts(request_id=str(uuid.uuid4())))) == REFUSED


@pytest.mark.parametrize("force", [False, True])
async def test_feed_made_while_the_file_is_stored_is_seen(
    db: Database, blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    file = tmp_path / "feed.yml"
    file.write_bytes(CONTENT)
    upload = NewUpload("shop", "default", 1, 1, "f", None, hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), force)
    make = CreateFeed(db, Limits(600), KeepCredentials(None), AnyFormat(), on_changed=lambda: None)
    put_file = blobs.put_file

    async def put_and_make(path: Path, sha256: str) -> None:
        await put_file(path, sha256)
        await make(upload.key, SETTINGS, request_id=None, timeout_s=None)

    monkeypatch.setattr(blobs, "put_file", put_and_make)

    store = StoreUpload(db, blobs, BlobRefs())
    await store.admit(upload.key, mode=upload.mode, request_id=None, force=force)
    if force:
        await store(upload, file)
    else:
        with pytest.raises(FailedPrecondition, match="Delete that feed"):
            await store(upload, file)
    assert await count(db, "uploads") == int(force)
    assert await count(db, "blob_refs") == int(force), "the file may go"

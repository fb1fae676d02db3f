"""Credentials go to the loader only, and encrypted: never into a column, a log or a response."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import grpc
import pytest
import structlog

from classifeed.feeds.v1.feed_pb2 import BasicAuth, Feed, FeedCredentials, FeedSettings, FeedSource
from classifeed.feeds.v1.feed_service_pb2 import (
    CreateFeedRequest,
    DeleteFeedRequest,
    GetFeedRequest,
    ListFeedsRequest,
    PauseFeedRequest,
    RunFeedRequest,
    UpdateFeedRequest,
)
from classifeed.feeds.v1.load_pb2 import LOAD_MODE_PATCH, LoadMode
from classifeed_common.db import Database
from classifeed_common.telemetry.logging import configure_logging

NAME = "sellers/shop/feeds/default"
URL = "https://shop.example/feed.yml"
SECRETS = ("swordfish-1", "swordfish-2", "swordfish-3")
GIVEN = FeedCredentials(
    basic_auth=BasicAuth(username=SECRETS[0], password=SECRETS[1]), headers={"X-Api-Key": SECRETS[2]}
)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Return all logs, in the format of a process in production."""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    configure_logging("api", level="debug", stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def forms_of(secret: str) -> list[bytes]:
    raw = secret.encode()
    return [raw, raw.hex().encode(), *(base64.b64encode(b"x" * pad + raw)[4:-4] for pad in range(3))]


async def everything_kept(db: Database) -> bytes:
    """Return every row of every table, as text and with raw bytes."""
    kept = b""
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'api'")
        for (table,) in await cursor.fetchall():
            rows = await (await tx.execute(f"SELECT * FROM {table}")).fetchall()
            kept += b"".join(
                value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
            )
    return kept


def update(
    feed: Feed, *paths: str, source: FeedSource | None = None, mode: LoadMode | None = None
) -> UpdateFeedRequest:
    changed = Feed(name=feed.name, version=feed.version, settings=FeedSettings(source=source, mode=mode))
    request = UpdateFeedRequest(feed=changed)
    request.update_mask.paths.extend(paths)
    return request


async def create(api: Any, credentials: FeedCredentials | None) -> Feed:
    settings = FeedSettings(source=FeedSource(url=URL, credentials=credentials))
    feed: Feed = await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", settings=settings))
    return feed


async def opened(api: Any) -> FeedCredentials | None:
    """Return the credentials as the loader would decrypt them now."""
    await api.stub.RunFeed(RunFeedRequest(name=NAME))
    sealed = api.loader.sources[NAME].sealed_credentials
    return FeedCredentials.FromString(api.cipher.decrypt(sealed, "shop/default")) if sealed else None


async def test_secrets_are_in_no_column_no_log_and_no_answer(
    logged: io.StringIO, start_api: Callable[..., Awaitable[Any]], db: Database, eventually: Callable[..., Any]
) -> None:
    api = await start_api()
    responses: list[Any] = [made := await create(api, GIVEN)]
    await eventually(lambda: NAME in api.loader.sources)
    source = FeedSource(url="https://other.example/", credentials=GIVEN)
    responses.append(changed := await api.stub.UpdateFeed(update(made, "settings", source=source)))
    responses.append(await api.stub.GetFeed(GetFeedRequest(name=NAME)))
    responses.append(await api.stub.ListFeeds(ListFeedsRequest(parent="sellers/shop")))
    responses.append(await api.stub.PauseFeed(PauseFeedRequest(name=NAME)))
    refused = FeedSource(url="ftp://x/", credentials=FeedCredentials(headers={"Host": SECRETS[2]}))
    for call in (
        api.stub.UpdateFeed(update(changed, "settings.source.credentials", source=source)),
        api.stub.UpdateFeed(update(changed, "settings", source=refused)),
        api.stub.UpdateFeed(update(changed, "settings.source.credentials", source=refused)),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        responses.append(caught.value)
    api.loader.away = True
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await api.stub.RunFeed(RunFeedRequest(name=NAME))
    responses.append(caught.value)
    kept, log = await everything_kept(db), logged.getvalue().encode()
    assert b"shop.example" not in kept
    assert b"other.example" in kept, "the link is kept, in clear"
    assert b"FEED_CREDENTIALS_INVALID" in log
    shown = b"".join(
        response.SerializeToString() if hasattr(response, "SerializeToString") else _status_of(response)
        for response in responses
    )
    for secret in SECRETS:
        for form in forms_of(secret):
            assert form not in kept
            assert form not in log
            assert form not in shown
    api.loader.away = False
    assert await opened(api) == GIVEN
    assert made.settings.source.has_credentials


def _status_of(error: grpc.aio.AioRpcError) -> bytes:
    trailers = b"".join(
        value if isinstance(value, bytes) else str(value).encode() for _, value in error.trailing_metadata() or ()
    )
    return str(error.details()).encode() + trailers


async def test_update_keeps_changes_or_removes_them_by_its_mask(api: Any) -> None:
    feed = await create(api, GIVEN)
    other = FeedCredentials(headers={"X-Api-Key": "other"})

    async def change(path: str, source: FeedSource | None = None, mode: LoadMode | None = None) -> None:
        nonlocal feed
        feed = await api.stub.UpdateFeed(update(feed, path, source=source, mode=mode))

    await change("settings.source.url", FeedSource(url=URL + "?1", credentials=other))
    assert await opened(api) == GIVEN
    await change("settings.source", FeedSource(url=URL + "?2"))
    assert await opened(api) == GIVEN
    await change("settings", FeedSource(url=URL + "?3"), mode=LOAD_MODE_PATCH)
    assert await opened(api) == GIVEN
    await change("settings.source", FeedSource(url=URL + "?4", credentials=other))
    assert await opened(api) == other
    await change("settings.source.credentials", FeedSource(url="ignored", credentials=GIVEN))
    assert await opened(api) == GIVEN
    assert feed.settings.source == FeedSource(url=URL + "?4", has_credentials=True)
    version = feed.version
    await change("settings.source.credentials", FeedSource(credentials=GIVEN))
    assert feed.version == version, "the same credentials are no change"
    await change("settings.source.credentials")
    assert await opened(api) is None
    assert (feed.settings.source.has_credentials, feed.version > version) == (False, True)


@pytest.mark.parametrize(
    "url",
    ["https://other.example/feed.yml", "http://shop.example/feed.yml", "https://shop.example:8443/feed.yml",
     "https://www.shop.example/feed.yml"],
    ids=["host", "scheme", "port", "subdomain"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["settings.source.url", "settings.source", "settings"])
async def test_kept_credentials_do_not_go_to_another_site(
    api: Any, refusal: Callable[..., Awaitable[Any]], path: str, url: str
) -> None:
    feed = await create(api, GIVEN)
    refused = await refusal(api.stub.UpdateFeed(update(feed, path, source=FeedSource(url=url))))
    field = "feed.settings.source.credentials"
    assert refused == (grpc.StatusCode.INVALID_ARGUMENT, "FEED_CREDENTIALS_OF_ANOTHER_SITE", [field])
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME)) == feed
    assert await opened(api) == GIVEN
    assert api.loader.sources[NAME].url == URL


async def test_credentials_named_beside_the_link_go_to_the_new_site(api: Any) -> None:
    feed = await create(api, GIVEN)
    there = FeedSource(url="https://other.example/", credentials=FeedCredentials(headers={"X-Key": "new"}))
    moved = await api.stub.UpdateFeed(update(feed, "settings.source.url", "settings.source.credentials", source=there))
    assert (moved.settings.source.url, await opened(api)) == (there.url, there.credentials)
    back = await api.stub.UpdateFeed(
        update(moved, "settings.source.url", "settings.source.credentials", source=FeedSource(url=URL))
    )
    assert (back.settings.source, await opened(api)) == (FeedSource(url=URL), None)
    free = await api.stub.UpdateFeed(update(back, "settings.source.url", source=FeedSource(url=there.url)))
    assert free.settings.source.url == there.url, "there is nothing that could leak"


async def test_removed_feed_loses_its_credentials_and_a_new_one_does_not_inherit_them(api: Any, db: Database) -> None:
    await create(api, GIVEN)
    removed = await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME))
    assert not removed.settings.source.has_credentials
    async with db.transaction() as tx:
        assert await (await tx.execute("SELECT sealed_credentials FROM feed")).fetchall() == [(b"",)]
    again = await create(api, None)
    assert not again.settings.source.has_credentials
    assert await opened(api) is None


async def test_credentials_are_bound_to_their_namespace(api: Any) -> None:
    await create(api, GIVEN)
    await api.stub.RunFeed(RunFeedRequest(name=NAME))
    sealed = api.loader.sources[NAME].sealed_credentials
    with pytest.raises(Exception, match="cannot be decrypted"):
        api.cipher.decrypt(sealed, "shop/other")

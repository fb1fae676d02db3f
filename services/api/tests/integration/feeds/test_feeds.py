"""Feeds by link over real gRPC: created, changed, paused and deleted; a version never gets two changes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.feed_pb2 import (
    FEED_STATUS_ACTIVE,
    FEED_STATUS_PAUSED,
    FEED_STATUS_REMOVED,
    Feed,
    FeedCredentials,
    FeedSettings,
    FeedSource,
)
from classifeed.feeds.v1.feed_service_pb2 import (
    CreateFeedRequest,
    DeleteFeedRequest,
    GetFeedRequest,
    ListFeedsRequest,
    PauseFeedRequest,
    ResumeFeedRequest,
    RunFeedRequest,
    UpdateFeedRequest,
)
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest, ListFetchesRequest
from classifeed.feeds.v1.format_pb2 import FORMAT_FILE_KIND_SAMPLE, GetFormatFileRequest, ListFormatsRequest
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_devkit.testing.rpc import OpenChannel
from classifeed_devkit.testing.texts import check_that_nul_is_refused

NAME = "sellers/shop/feeds/default"
URL = "https://shop.example/feed.yml"
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]
INVALID, EXISTS = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS
MISSING, STATE, ABORTED = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ABORTED


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(api: Any, rpc_channel: OpenChannel) -> None:
    await check_that_nul_is_refused(rpc_channel, api.target, "api", "classifeed.feeds.v1.FeedService")


def creation(namespace: str = "", *, url: str = URL, request_id: str = "", **fields: Any) -> CreateFeedRequest:
    settings = FeedSettings(source=FeedSource(url=url), **fields)
    return CreateFeedRequest(parent="sellers/shop", namespace=namespace, settings=settings, request_id=request_id)


def update(feed: Feed, *paths: str, version: int | None = None, **fields: Any) -> UpdateFeedRequest:
    changed = Feed(
        name=feed.name, version=feed.version if version is None else version, settings=FeedSettings(**fields)
    )
    request = UpdateFeedRequest(feed=changed)
    request.update_mask.paths.extend(paths)
    return request


async def test_feed_is_made_with_its_defaults_and_read_back(api: Any) -> None:
    made = await api.stub.CreateFeed(creation())
    assert (made.name, made.seller_id, made.namespace, made.status) == (NAME, "shop", "default", FEED_STATUS_ACTIVE)
    assert made.settings.source == FeedSource(url=URL)
    assert made.settings.schedule.interval.seconds == 3600
    assert (made.settings.mode, made.settings.disposition) == (1, 1)
    assert made.version > 0
    assert made.create_time == made.update_time
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME)) == made


@pytest.mark.parametrize(
    ("request_", "reason", "fields"),
    [
        (creation("manual"), "NAMESPACE_RESERVED", ["namespace"]),
        (creation("parsed.avito"), "NAMESPACE_RESERVED", ["namespace"]),
        (creation(url=""), "FEED_SETTINGS_INVALID", ["settings.source.url"]),
        (creation(url="http://10.0.0.1/f"), "FEED_SETTINGS_INVALID", ["settings.source.url"]),
        (creation(url="x" * 2049), "REQUEST_INVALID", ["settings.source.url"]),
        (creation(format="No Format"), "REQUEST_INVALID", ["settings.format"]),
        (creation(format="yaml"), "FEED_SETTINGS_INVALID", ["settings.format"]),
        (CreateFeedRequest(parent="sellers/shop"), "REQUEST_INVALID", ["settings"]),
    ],
)
async def test_wrong_feed_is_refused_by_its_field(
    api: Any, refusal: Refusal, request_: CreateFeedRequest, reason: str, fields: list[str]
) -> None:
    assert await refusal(api.stub.CreateFeed(request_)) == (INVALID, reason, fields)
    assert not (await api.stub.ListFeeds(ListFeedsRequest(parent="sellers/shop"))).feeds


async def test_format_is_checked_where_it_is_named_and_while_the_formats_can_be_asked_for(
    api: Any, refusal: Refusal
) -> None:
    made = await api.stub.CreateFeed(creation(format="yml"))
    refused = await refusal(api.stub.UpdateFeed(update(made, "settings.format", format="yaml")))
    assert refused == (INVALID, "FEED_SETTINGS_INVALID", ["feed.settings.format"])
    unnamed = await api.stub.UpdateFeed(update(made, "settings.mode", mode=2, format="yaml"))
    assert unnamed.settings.format == "yml"
    api.processor.formats_away = True
    changed = await api.stub.UpdateFeed(update(unnamed, "settings.format", format="yaml"))
    assert changed.settings.format == "yaml"
    assert not (await api.stub.UpdateFeed(update(changed, "settings.format"))).settings.format


async def test_shortest_interval_is_the_operators(start_api: Any, refusal: Refusal) -> None:
    api = await start_api(roles={"serve"}, min_interval_s=5)
    request = creation()
    request.settings.schedule.interval.FromSeconds(4)
    assert await refusal(api.stub.CreateFeed(request)) == (
        INVALID,
        "FEED_SETTINGS_INVALID",
        ["settings.schedule.interval"],
    )
    request.settings.schedule.interval.FromSeconds(5)
    assert (await api.stub.CreateFeed(request)).settings.schedule.interval.seconds == 5


async def test_namespace_has_one_feed_and_the_same_request_is_the_same_feed(api: Any, refusal: Refusal) -> None:
    request_id = str(uuid.uuid4())
    made = await api.stub.CreateFeed(creation(request_id=request_id))
    assert await api.stub.CreateFeed(creation(request_id=request_id.upper())) == made
    assert await refusal(api.stub.CreateFeed(creation())) == (EXISTS, "FEED_EXISTS", [])
    assert await refusal(api.stub.CreateFeed(creation(request_id=str(uuid.uuid4())))) == (EXISTS, "FEED_EXISTS", [])
    removed = await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME))
    assert await api.stub.CreateFeed(creation(request_id=request_id)) == removed, "a late copy revives nothing"


async def test_removed_feed_made_anew_goes_on_with_its_versions(api: Any, refusal: Refusal, db: Database) -> None:
    made = await api.stub.CreateFeed(creation())
    removed = await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME))
    assert await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME)) == removed
    assert (await api.stub.GetFeed(GetFeedRequest(name=NAME))).status == FEED_STATUS_REMOVED
    for call in (
        api.stub.PauseFeed(PauseFeedRequest(name=NAME)),
        api.stub.RunFeed(RunFeedRequest(name=NAME)),
        api.stub.UpdateFeed(update(removed, "settings.mode")),
    ):
        assert await refusal(call) == (STATE, "FEED_REMOVED", [])
    again = await api.stub.CreateFeed(creation(url=URL + "?2"))
    assert (again.status, again.settings.source.url) == (FEED_STATUS_ACTIVE, URL + "?2")
    assert made.version < removed.version < again.version
    assert again.create_time == made.create_time
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT version, disposition FROM feed_deletions")
        assert await cursor.fetchall() == [(removed.version, 1)]


async def test_unknown_feed_is_not_found(api: Any, refusal: Refusal) -> None:
    for call in (
        api.stub.GetFeed(GetFeedRequest(name=NAME)),
        api.stub.PauseFeed(PauseFeedRequest(name=NAME)),
        api.stub.ResumeFeed(ResumeFeedRequest(name=NAME)),
        api.stub.DeleteFeed(DeleteFeedRequest(name=NAME)),
        api.stub.RunFeed(RunFeedRequest(name=NAME)),
        api.stub.UpdateFeed(update(Feed(name=NAME), "settings.mode")),
    ):
        assert await refusal(call) == (MISSING, "FEED_NOT_FOUND", [])
    wrong = update(Feed(name="sellers/shop"), "settings.mode")
    assert await refusal(api.stub.UpdateFeed(wrong)) == (INVALID, "FEED_NAME_INVALID", ["feed.name"])


async def test_feeds_are_listed_by_namespace_page_by_page_without_removed_ones(api: Any, refusal: Refusal) -> None:
    for namespace in ("c", "a", "e", "b", "d"):
        await api.stub.CreateFeed(creation(namespace))
    await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/rival", settings=creation().settings))
    await api.stub.DeleteFeed(DeleteFeedRequest(name="sellers/shop/feeds/b"))
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        request = ListFeedsRequest(parent="sellers/shop", page_size=2, page_token=token)
        response = await api.stub.ListFeeds(request)
        pages.append([feed.namespace for feed in response.feeds])
        token = response.next_page_token
    assert pages == [["a", "c"], ["d", "e"]]
    assert [len(names) for names in api.loader.state_calls] == [2, 2], "one call a page"
    wrong = ListFeedsRequest(parent="sellers/shop", page_token="?")
    assert await refusal(api.stub.ListFeeds(wrong)) == (INVALID, "PAGE_TOKEN_INVALID", ["page_token"])


async def test_update_changes_what_the_mask_names_and_moves_the_version(api: Any, refusal: Refusal) -> None:
    made = await api.stub.CreateFeed(creation())
    changed = await api.stub.UpdateFeed(update(made, "settings.mode", mode=2, format="yml"))
    assert (changed.settings.mode, changed.settings.format) == (2, "")
    assert changed.version > made.version
    assert await api.stub.UpdateFeed(update(changed, "settings.mode", mode=2)) == changed, "nothing changed"
    stale = update(made, "settings.mode", mode=1)
    assert await refusal(api.stub.UpdateFeed(stale)) == (ABORTED, "FEED_CHANGED", [])
    whatever = await api.stub.UpdateFeed(update(made, "settings.mode", version=0, mode=1))
    assert whatever.version > changed.version
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME)) == whatever


@pytest.mark.parametrize("path", ["name", "status", "settings.nothing", "*"])
async def test_mask_that_names_something_else_is_refused(api: Any, refusal: Refusal, path: str) -> None:
    made = await api.stub.CreateFeed(creation())
    with pytest.raises(grpc.aio.AioRpcError, match="update_mask") as caught:
        await api.stub.UpdateFeed(update(made, path))
    assert repr(path) in str(caught.value.details())
    assert caught.value.code() is INVALID
    wrong = update(made, "settings.source", source=FeedSource())
    assert await refusal(api.stub.UpdateFeed(wrong)) == (
        INVALID,
        "FEED_SETTINGS_INVALID",
        ["feed.settings.source.url"],
    )


async def test_of_two_changes_from_one_version_one_is_aborted(api: Any) -> None:
    feed = await api.stub.CreateFeed(creation())
    for attempt in range(10):
        changes = [
            api.stub.UpdateFeed(update(feed, "settings.source.url", source=FeedSource(url=f"{URL}?{attempt}{each}")))
            for each in "ab"
        ]
        responses = await asyncio.gather(*changes, return_exceptions=True)
        refused = [response for response in responses if isinstance(response, grpc.aio.AioRpcError)]
        assert [error.code() for error in refused] == [ABORTED]
        [feed] = [response for response in responses if isinstance(response, Feed)]
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME)) == feed


@pytest.mark.parametrize("what", ["update", "pause", "delete", "create"])
async def test_change_waits_for_the_one_under_way_and_sees_it(api: Any, db: Database, what: str) -> None:
    made, key = await api.stub.CreateFeed(creation()), NamespaceKey("shop", "default")
    calls = {
        "update": lambda: api.stub.UpdateFeed(update(made, "settings.mode", mode=2)),
        "pause": lambda: api.stub.PauseFeed(PauseFeedRequest(name=NAME)),
        "delete": lambda: api.stub.DeleteFeed(DeleteFeedRequest(name=NAME)),
        "create": lambda: api.stub.CreateFeed(creation()),
    }

    async with db.transaction() as tx:
        await task_line.lock(tx, key)
        paused = await feeds.update(tx, replace(await feeds.get(tx, key), status=FEED_STATUS_PAUSED))
        call = asyncio.ensure_future(_outcome(calls[what]()))
        assert await comes_to_wait(call, db, behind=tx)
    response = await call
    if what == "pause":
        assert response.version == paused.version
    elif what == "delete":
        assert response.version > paused.version
    else:
        assert response.code() is {"update": ABORTED, "create": EXISTS}[what]


async def _outcome(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        return error


async def test_pause_and_resume_change_the_version_only_when_something_changes(api: Any) -> None:
    made = await api.stub.CreateFeed(creation())
    assert await api.stub.ResumeFeed(ResumeFeedRequest(name=NAME)) == made
    paused = await api.stub.PauseFeed(PauseFeedRequest(name=NAME))
    assert (paused.status, paused.version > made.version) == (FEED_STATUS_PAUSED, True)
    assert await api.stub.PauseFeed(PauseFeedRequest(name=NAME)) == paused
    resumed = await api.stub.ResumeFeed(ResumeFeedRequest(name=NAME))
    assert (resumed.status, resumed.version > paused.version) == (FEED_STATUS_ACTIVE, True)


async def test_racing_switches_are_one_change_each_and_deletion_has_the_last_word(api: Any, db: Database) -> None:
    made = await api.stub.CreateFeed(creation())
    same = await asyncio.gather(*(api.stub.PauseFeed(PauseFeedRequest(name=NAME)) for _ in range(6)))
    assert len({feed.version for feed in same}) == 1
    assert same[0].version > made.version
    calls = [api.stub.ResumeFeed(ResumeFeedRequest(name=NAME)), api.stub.PauseFeed(PauseFeedRequest(name=NAME))] * 3
    calls += [api.stub.DeleteFeed(DeleteFeedRequest(name=NAME)) for _ in range(3)]
    responses = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(response) for response in responses} <= {Feed, grpc.aio.AioRpcError}
    assert {response.code() for response in responses if isinstance(response, grpc.aio.AioRpcError)} <= {STATE}
    seen = [response for response in responses if isinstance(response, Feed)]
    assert {feed.version: feed.status for feed in seen}.items() == {(feed.version, feed.status) for feed in seen}, (
        "one status a version"
    )
    last = await api.stub.GetFeed(GetFeedRequest(name=NAME))
    assert (last.status, last.version) == (FEED_STATUS_REMOVED, max(feed.version for feed in seen))
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT version FROM feed_deletions")
        assert await cursor.fetchall() == [(last.version,)]


async def test_state_is_the_loaders_and_its_absence_fails_no_read(api: Any) -> None:
    made = await api.stub.CreateFeed(creation())
    assert not (await api.stub.GetFeed(GetFeedRequest(name=NAME))).HasField("state"), "not known there yet"
    await api.stub.RunFeed(RunFeedRequest(name=NAME))
    assert (await api.stub.GetFeed(GetFeedRequest(name=NAME))).state.feed_version == made.version
    api.loader.away = True
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME), timeout=60) == made
    response = await api.stub.ListFeeds(ListFeedsRequest(parent="sellers/shop"), timeout=60)
    assert list(response.feeds) == [made]


async def test_run_takes_the_whole_feed_along_and_is_idempotent(api: Any, refusal: Refusal) -> None:
    made = await api.stub.CreateFeed(creation(mode=2, disposition=2, format="yml", default_currency="KZT"))
    request_id = str(uuid.uuid4())
    fetch = await api.stub.RunFeed(RunFeedRequest(name=NAME, force=True, request_id=request_id))
    assert (fetch.feed_version, fetch.forced) == (made.version, True)
    assert await api.stub.RunFeed(RunFeedRequest(name=NAME, force=True, request_id=request_id.upper())) == fetch
    other = await api.stub.RunFeed(RunFeedRequest(name=NAME))
    assert other.name != fetch.name
    source = api.loader.sources[NAME]
    assert (source.url, source.interval.seconds, source.status) == (URL, 3600, FEED_STATUS_ACTIVE)
    assert (source.mode, source.disposition, source.format, source.default_currency) == (2, 2, "yml", "KZT")
    assert await api.stub.GetFetch(GetFetchRequest(name=fetch.name)) == fetch
    listed = await api.stub.ListFetches(ListFetchesRequest(parent=NAME, page_token="on"))
    assert (list(listed.fetches), listed.next_page_token) == ([fetch, other], "on")
    paused = await api.stub.PauseFeed(PauseFeedRequest(name=NAME))
    assert (await api.stub.RunFeed(RunFeedRequest(name=NAME))).feed_version == paused.version
    api.loader.away = True
    code, reason, _ = await refusal(api.stub.RunFeed(RunFeedRequest(name=NAME)))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "LOADER_UNAVAILABLE")


async def test_formats_are_the_processors(api: Any, refusal: Refusal) -> None:
    assert [each.format for each in (await api.stub.ListFormats(ListFormatsRequest())).formats] == ["yml"]
    file = await api.stub.GetFormatFile(GetFormatFileRequest(name="formats/yml", kind=FORMAT_FILE_KIND_SAMPLE))
    assert file.content == b"<yml_catalog/>"
    missing = GetFormatFileRequest(name="formats/other", kind=FORMAT_FILE_KIND_SAMPLE)
    assert await refusal(api.stub.GetFormatFile(missing)) == (MISSING, "FORMAT_NOT_FOUND", [])


async def test_credentials_need_a_key_to_keep_them_with(start_api: Any, refusal: Refusal) -> None:
    api = await start_api(roles={"serve"}, secrets_file=None)
    request = creation()
    request.settings.source.credentials.CopyFrom(FeedCredentials(headers={"X-Key": "swordfish"}))
    assert await refusal(api.stub.CreateFeed(request)) == (STATE, "CREDENTIALS_NOT_SUPPORTED", [])
    made = await api.stub.CreateFeed(creation())
    given = update(made, "settings.source", source=request.settings.source)
    assert await refusal(api.stub.UpdateFeed(given)) == (STATE, "CREDENTIALS_NOT_SUPPORTED", [])
    assert await api.stub.GetFeed(GetFeedRequest(name=NAME)) == made


async def test_fetches_tell_how_their_loads_stand_while_the_processor_can_be_asked(api: Any) -> None:
    made = await api.stub.CreateFeed(creation())
    await api.stub.CreateFeed(creation("other"))
    await api.stub.RunFeed(RunFeedRequest(name=NAME, request_id=str(uuid.uuid4())))
    [fetch] = api.loader.fetches.values()
    fetch.task = f"{NAME}/tasks/7"
    api.loader.newest[NAME] = fetch
    task = task_pb2.Task(name=fetch.task, status="TASK_STATUS_FAILED", error_code="NOT_A_FEED", error_line=1)
    task.statistics.total = 5
    api.processor.standings[fetch.task] = task
    fetches = ListFetchesRequest(parent=NAME)
    for found in (
        (await api.stub.GetFetch(GetFetchRequest(name=fetch.name))),
        (await api.stub.ListFetches(fetches)).fetches[0],
        (await api.stub.GetFeed(GetFeedRequest(name=NAME))).state.last_fetch,
        (await api.stub.ListFeeds(ListFeedsRequest(parent="sellers/shop"))).feeds[0].state.last_fetch,
    ):
        assert (found.load.status, found.load.error_code, found.load.error_line) == (task.status, "NOT_A_FEED", 1)
        assert found.load.statistics.total == 5
    assert api.processor.finds == [[fetch.task]] * 4, "one question a call, however many feeds"
    api.processor.away = True
    assert not (await api.stub.ListFetches(fetches)).fetches[0].HasField("load")
    found = await api.stub.GetFeed(GetFeedRequest(name=NAME))
    assert (found.version, found.state.last_fetch.task) == (made.version, fetch.task)
    assert not found.state.last_fetch.HasField("load")

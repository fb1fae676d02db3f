"""A namespace that is filled by uploads only is listed, shown and removed like one with a link."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.feed_pb2 import (
    FEED_STATUS_ACTIVE,
    FEED_STATUS_REMOVED,
    Feed,
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
    UploadFeedRequest,
    UploadSpec,
)
from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_DELETE,
    DISPOSITION_DELETE_ALL,
    DISPOSITION_MAKE_MANUAL,
    Disposition,
)
from classifeed_api.store.feeds import SELECT_DUE, list_published
from classifeed_common.db import Database

NAME = "sellers/shop/feeds/default"
SETTINGS = FeedSettings(source=FeedSource(url="https://shop.example/feed.yml"))
STATE, MISSING = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]


async def upload(api: Any, namespace: str = "default", content: bytes = b"<yml_catalog/>") -> str:
    async def parts() -> AsyncIterator[UploadFeedRequest]:
        yield UploadFeedRequest(spec=UploadSpec(seller_id="shop", namespace=namespace))
        yield UploadFeedRequest(chunk=content)

    return str((await api.stub.UploadFeed(parts())).upload_id)


async def get(api: Any) -> Feed:
    feed: Feed = await api.stub.GetFeed(GetFeedRequest(name=NAME))
    return feed


async def delete(api: Any, disposition: Disposition = DISPOSITION_DELETE) -> Feed:
    feed: Feed = await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME, disposition=disposition))
    return feed


async def listed(api: Any, **page: Any) -> list[tuple[str, str]]:
    """Return the namespaces of the seller, each with its link."""
    found = await api.stub.ListFeeds(ListFeedsRequest(parent="sellers/shop", **page))
    following = await listed(api, **page | {"page_token": found.next_page_token}) if found.next_page_token else []
    return [(feed.namespace, feed.settings.source.url) for feed in found.feeds] + following


async def deletions(db: Database) -> list[tuple[int, int]]:
    """Return version and disposition of each removal."""
    async with db.transaction() as tx:
        rows = await tx.execute("SELECT version, disposition FROM feed_deletions ORDER BY version")
        return [(version, disposition) for version, disposition in await rows.fetchall()]


async def count_sources(db: Database) -> tuple[int, int]:
    """Return how many feeds are due for the loader, and how many it has acknowledged."""
    async with db.transaction() as tx:
        due = await (await tx.execute(SELECT_DUE, {"limit": 10})).fetchall()
        return len(due), len(await list_published(tx, None, limit=10))


async def make_task(db: Database) -> None:
    """Have the processor create the tasks of all waiting uploads and removals."""
    async with db.transaction() as tx:
        for table in ("uploads", "feed_deletions"):
            await tx.execute(f"UPDATE {table} SET published_version = version")


def task(kind: str, status: str, run: int = 1) -> task_pb2.Task:
    return task_pb2.Task(kind=f"TASK_KIND_{kind}", status=f"TASK_STATUS_{status}", run=run)


async def test_it_is_listed_among_the_feeds_and_shown_without_a_link(api: Any, db: Database) -> None:
    for namespace in ("c", "a", "default", "a"):
        await upload(api, namespace, namespace.encode())
    await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", namespace="b", settings=SETTINGS))
    expected = [("a", ""), ("b", SETTINGS.source.url), ("c", ""), ("default", "")]
    assert await listed(api) == expected
    assert await listed(api, page_size=1) == expected
    assert await listed(api, page_size=3) == expected
    shown = await get(api)
    assert (shown.name, shown.status, shown.settings) == (NAME, FEED_STATUS_ACTIVE, FeedSettings(source=FeedSource()))
    assert shown.HasField("update_time")
    assert {name for names in api.loader.state_calls for name in names} == {"sellers/shop/feeds/b"}
    assert await count_sources(db) == (1, 0)
    await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", namespace="a", settings=SETTINGS))
    assert (await listed(api))[0] == ("a", SETTINGS.source.url), "a link takes it over, and it is listed once"


async def test_there_is_nothing_to_fetch_pause_or_change(api: Any, refusal: Refusal) -> None:
    await upload(api)
    change = UpdateFeedRequest(feed=Feed(name=NAME))
    change.update_mask.paths.append("settings.mode")
    for call in (
        api.stub.PauseFeed(PauseFeedRequest(name=NAME)),
        api.stub.ResumeFeed(ResumeFeedRequest(name=NAME)),
        api.stub.RunFeed(RunFeedRequest(name=NAME)),
        api.stub.UpdateFeed(change),
    ):
        assert await refusal(call) == (STATE, "FEED_HAS_NO_LINK", [])
    removed = await delete(api)
    assert await refusal(api.stub.PauseFeed(PauseFeedRequest(name=NAME))) == (STATE, "FEED_REMOVED", [])
    await upload(api)
    assert await refusal(api.stub.PauseFeed(PauseFeedRequest(name=NAME))) == (STATE, "FEED_HAS_NO_LINK", [])
    assert removed.status == FEED_STATUS_REMOVED


@pytest.mark.parametrize("disposition", [DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL])
async def test_it_is_removed_and_filled_and_removed_again(
    start_api: Callable[..., Awaitable[Any]], eventually: Any, db: Database, disposition: Disposition
) -> None:
    api = await start_api()
    line: list[Any] = [(await upload(api), 0)]
    removed = await delete(api, disposition)
    line.append(("DELETE", removed.version))
    assert (removed.status, await get(api), await listed(api)) == (FEED_STATUS_REMOVED, removed, [])
    await eventually(lambda: api.processor.tasks.get(("shop", "default")) == line)
    assert api.processor.requests[-1].disposition == disposition
    assert await count_sources(db) == (0, 0), "nor has the loader acknowledged it"
    api.processor.listed = [task("DELETE", "IN_PROGRESS", run=0), task("LOAD", "SUCCEEDED")]
    assert await delete(api) == removed, "a repeated call makes no further task"
    line.append((await upload(api), 0))
    assert await listed(api) == [("default", "")]
    again = await delete(api, disposition)
    assert again.version > removed.version
    line.append(("DELETE", again.version))
    await eventually(lambda: api.processor.tasks.get(("shop", "default")) == line)
    assert await deletions(db) == [(removed.version, disposition), (again.version, disposition)]
    assert (await count_sources(db), api.loader.sources) == ((0, 0), {}), "it is never sent to the loader"
    made = await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", settings=SETTINGS))
    assert (made.status, made.version > again.version) == (FEED_STATUS_ACTIVE, True)
    await eventually(lambda: NAME in api.loader.sources)
    assert api.loader.sources[NAME].feed_version == made.version


async def test_uploads_after_a_removed_link_are_a_namespace_of_their_own(api: Any, db: Database) -> None:
    await upload(api)
    linked = await api.stub.CreateFeed(CreateFeedRequest(parent="sellers/shop", settings=SETTINGS))
    removed = await delete(api)
    assert await listed(api) == []
    async with db.transaction() as tx:  # the clock has stepped back since
        await tx.execute("UPDATE feed SET version = version + 3600000000")
    await upload(api)
    assert await listed(api) == [("default", "")]
    shown = await get(api)
    assert (shown.settings.source.url, shown.status) == ("", FEED_STATUS_ACTIVE)
    await make_task(db)
    again = await delete(api)
    assert again.version > shown.version > removed.version > linked.version
    assert await listed(api) == []


@pytest.mark.parametrize(
    ("newest", "is_removed_again"),
    [
        ([task("DELETE", "SUCCEEDED"), task("LOAD", "SUCCEEDED")], False),
        ([task("DELETE", "IN_PROGRESS", run=0), task("LOAD", "SUCCEEDED")], False),
        ([task("LOAD", "SUPERSEDED"), task("LOAD", "CANCELED", run=0), task("DELETE", "SUCCEEDED")], False),
        ([], False),
        (None, False),
        ([task("DELETE", "FAILED"), task("LOAD", "SUCCEEDED")], True),
        ([task("DELETE", "CANCELED"), task("LOAD", "SUCCEEDED")], True),
        ([task("DELETE", "CANCELED", run=0), task("LOAD", "SUCCEEDED")], True),
        ([task("LOAD", "CANCELED"), task("DELETE", "SUCCEEDED")], True),
    ],
)
async def test_a_removal_that_left_offers_is_made_again(
    api: Any, db: Database, newest: list[task_pb2.Task] | None, is_removed_again: bool
) -> None:
    await upload(api)
    removed = await delete(api)
    api.processor.listed = newest
    assert await delete(api) == removed, "a removal that waits for its task gets no second one"
    await make_task(db)
    again = await delete(api)
    assert (again.version > removed.version) == is_removed_again
    assert len(await deletions(db)) == 1 + is_removed_again


async def delete_all(api: Any) -> Feed:
    feed: Feed = await api.stub.DeleteFeed(DeleteFeedRequest(name=NAME, include_manual=True))
    return feed


async def test_offers_kept_by_hand_are_removed_from_a_removed_namespace(api: Any, db: Database) -> None:
    await upload(api)
    removed = await delete(api, DISPOSITION_MAKE_MANUAL)
    again = await delete_all(api)
    assert again.version > removed.version, "also while the task of the first removal is to be made"
    assert await delete_all(api) == again, "a repeated call makes no further task"
    assert await delete(api) == again, "it does more than the ordinary removal"
    await make_task(db)
    api.processor.listed = [
        task_pb2.Task(kind="TASK_KIND_DELETE", status="TASK_STATUS_SUCCEEDED", disposition="DISPOSITION_DELETE_ALL")
    ]
    assert await delete_all(api) == again
    api.processor.listed = [task("DELETE", "SUCCEEDED")]
    third = await delete_all(api)
    assert third.version > again.version, "a later removal has left some"
    assert [disposition for _, disposition in await deletions(db)] == [
        DISPOSITION_MAKE_MANUAL,
        DISPOSITION_DELETE_ALL,
        DISPOSITION_DELETE_ALL,
    ]


async def test_a_removal_of_all_is_not_lost_while_the_processor_is_away(
    api: Any, db: Database, refusal: Refusal
) -> None:
    await upload(api)
    await delete(api, DISPOSITION_MAKE_MANUAL)
    await make_task(db)
    api.processor.listed = None
    away: tuple[grpc.StatusCode, str, list[str]] = (grpc.StatusCode.UNAVAILABLE, "PROCESSOR_UNAVAILABLE", [])
    assert await refusal(delete_all(api)) == away


async def test_offers_are_either_kept_by_hand_or_removed(api: Any, db: Database, refusal: Refusal) -> None:
    await upload(api)
    request = DeleteFeedRequest(name=NAME, disposition=DISPOSITION_MAKE_MANUAL, include_manual=True)
    code, reason, fields = await refusal(api.stub.DeleteFeed(request))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DISPOSITION_CONTRADICTORY")
    assert fields == ["include_manual"]
    assert await deletions(db) == []


async def test_a_load_never_removes_offers_kept_by_hand(api: Any, refusal: Refusal) -> None:
    async def parts() -> AsyncIterator[UploadFeedRequest]:
        yield UploadFeedRequest(spec=UploadSpec(seller_id="shop", disposition=DISPOSITION_DELETE_ALL))

    code, _, fields = await refusal(api.stub.UploadFeed(parts()))
    assert (code, fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["spec.disposition"])


async def test_a_namespace_that_only_the_processor_knows_is_removed(api: Any, db: Database, refusal: Refusal) -> None:
    """Its uploads were lost when the api's database was restored."""
    assert await refusal(delete(api)) == (MISSING, "FEED_NOT_FOUND", [])
    api.processor.listed = None
    away: tuple[grpc.StatusCode, str, list[str]] = (grpc.StatusCode.UNAVAILABLE, "PROCESSOR_UNAVAILABLE", [])
    assert await refusal(delete(api)) == away, "it may have offers"
    assert await deletions(db) == []
    api.processor.listed = [task("LOAD", "SUCCEEDED")]
    removed = await delete(api)
    assert (removed.status, await get(api)) == (FEED_STATUS_REMOVED, removed)
    assert await deletions(db) == [(removed.version, DISPOSITION_DELETE)]

"""Every change of a feed reaches the loader in spite of failures; a refused one does not hold up others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_PAUSED, FEED_STATUS_REMOVED, FeedSettings, FeedSource
from classifeed.feeds.v1.feed_service_pb2 import (
    CreateFeedRequest,
    DeleteFeedRequest,
    PauseFeedRequest,
    ResumeFeedRequest,
)
from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_api.app.peers.push_sources import PushSources
from classifeed_api.store import feeds
from classifeed_common.db import Database, load_queries
from classifeed_common.errors import InvalidArgument
from classifeed_common.rpc.server import MAX_MESSAGE_BYTES

Eventually = Callable[..., Awaitable[None]]
SETTINGS = FeedSettings(source=FeedSource(url="https://shop.example/feed.yml"))


def name(namespace: str) -> str:
    return f"sellers/shop/feeds/{namespace}"


async def create(api: Any, namespace: str) -> Any:
    request = CreateFeedRequest(parent="sellers/shop", namespace=namespace, settings=SETTINGS)
    return await api.stub.CreateFeed(request)


async def due(db: Database) -> list[tuple[Any, ...]]:
    async with db.transaction() as tx:
        cursor = await tx.execute(feeds.SELECT_DUE, {"limit": 1000})
        return await cursor.fetchall()


async def test_changes_reach_the_loader_and_so_do_removals(
    start_api: Callable[..., Awaitable[Any]], eventually: Eventually, db: Database
) -> None:
    api = await start_api()
    made = await create(api, "a")
    await eventually(lambda: name("a") in api.loader.sources)
    assert api.loader.sources[name("a")].feed_version == made.version
    paused = await api.stub.PauseFeed(PauseFeedRequest(name=name("a")))
    await eventually(lambda: api.loader.sources[name("a")].feed_version == paused.version)
    assert api.loader.sources[name("a")].status == FEED_STATUS_PAUSED
    removed = await api.stub.DeleteFeed(DeleteFeedRequest(name=name("a")))
    await eventually(lambda: api.loader.sources[name("a")].feed_version == removed.version)
    assert api.loader.sources[name("a")].status == FEED_STATUS_REMOVED
    await eventually(lambda: ("shop", "a") in api.processor.tasks)
    assert api.processor.tasks["shop", "a"] == [("DELETE", removed.version)]


@pytest.mark.parametrize("verifies", [True, pytest.param(False, id="naive: the mark says that the loader knows them")])
async def test_loader_that_lost_what_it_knew_is_told_again(
    start_api: Callable[..., Awaitable[Any]],
    eventually: Eventually,
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    verifies: bool,
) -> None:
    monkeypatch.setattr("classifeed_api.parts.roles._VERIFY_INTERVAL_S", 0.2)
    roles = {"serve", "publish-feeds", "publish-uploads"} | ({"verify-feeds"} if verifies else set())
    api = await start_api(roles=roles)
    for namespace in ("a", "b", "c", "d"):
        await create(api, namespace)
    before = {
        namespace: (await api.stub.PauseFeed(PauseFeedRequest(name=name(namespace)))).version for namespace in "ab"
    }
    removed = await api.stub.DeleteFeed(DeleteFeedRequest(name=name("c")))
    await eventually(lambda: len(api.loader.sources) == 4)
    await eventually(lambda: api.loader.sources[name("b")].feed_version == before["b"])
    await eventually(lambda: api.loader.sources[name("c")].feed_version == removed.version)

    async def nothing_is_due() -> bool:
        return await due(db) == []

    async with asyncio.timeout(60):
        while not await nothing_is_due():
            await asyncio.sleep(0.02)
    # Restored: one is unknown, one is unchanged, one exists again.
    del api.loader.sources[name("a")]
    for namespace in "bc":
        older = SourceRecord.FromString(api.loader.sources[name(namespace)].SerializeToString())
        older.feed_version -= 1
        api.loader.sources[name(namespace)] = older
    if not verifies:
        assert await nothing_is_due()
        return
    await eventually(lambda: name("a") in api.loader.sources)
    await eventually(lambda: api.loader.sources[name("b")].feed_version == before["b"])
    await eventually(lambda: api.loader.sources[name("c")].feed_version == removed.version)


async def test_a_feed_that_changes_while_it_is_found_lost_stays_due(
    start_api: Callable[..., Awaitable[Any]], db: Database
) -> None:
    api = await start_api(roles={"serve"})
    made = await create(api, "a")
    async with db.transaction() as tx:
        await tx.execute("UPDATE feed SET published_version = version")
        [published] = await feeds.list_published(tx, None, limit=10)
    assert published == feeds.Published("shop", "a", made.version)
    paused = await api.stub.PauseFeed(PauseFeedRequest(name=name("a")))
    async with db.transaction() as tx:
        await tx.execute("UPDATE feed SET published_version = version")
        assert await feeds.forget_published(tx, [published]) == 0
        assert await feeds.list_published(tx, None, limit=10) == [feeds.Published("shop", "a", paused.version)]
        assert await feeds.list_published(tx, published, limit=10) == []


async def test_loader_that_comes_back_hears_of_the_last_state(
    start_api: Callable[..., Awaitable[Any]], eventually: Eventually, db: Database
) -> None:
    api = await start_api()
    api.loader.away = True
    await create(api, "a")
    await api.stub.PauseFeed(PauseFeedRequest(name=name("a")))
    resumed = await api.stub.ResumeFeed(ResumeFeedRequest(name=name("a")))
    assert [row[1:4] for row in await due(db)] == [("shop", "a", resumed.version)]
    api.loader.away = False
    await eventually(lambda: name("a") in api.loader.sources)
    await eventually(lambda: api.loader.sources[name("a")].feed_version == resumed.version)


async def test_one_refused_feed_holds_up_no_other_and_comes_later(
    start_api: Callable[..., Awaitable[Any]], eventually: Eventually, db: Database
) -> None:
    api = await start_api()
    api.loader.poison.add("d")
    for namespace in "abcdefg":
        await create(api, namespace)
    await eventually(lambda: len(api.loader.sources) == 6)
    assert name("d") not in api.loader.sources
    api.loader.poison.clear()
    await eventually(lambda: name("d") in api.loader.sources)


async def test_one_refused_of_a_batch_is_found_without_a_call_for_each() -> None:
    calls: list[int] = []

    class Client:
        async def put_sources(self, sources: Sequence[SourceRecord]) -> Sequence[int]:
            calls.append(len(sources))
            if "n77" in [source.namespace for source in sources]:
                raise InvalidArgument("POISON", "refused")
            return [source.feed_version for source in sources]

    when, settings = datetime.now(UTC), SETTINGS.SerializeToString()
    rows = [(f"shop/n{at}", "shop", f"n{at}", at + 1, 1, settings, b"", None, when, when) for at in range(100)]
    assert await PushSources(Client())(rows) == [at != 77 for at in range(100)]
    assert len(calls) < 20


async def test_full_batch_of_full_credentials_goes_in_calls_that_fit(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO feed SELECT 'shop', 'n' || i, i, 0, 1, %s, %s, NULL, now(), now() "
            "FROM generate_series(1, 500) i",
            (SETTINGS.SerializeToString(), b"x" * 98_304),
        )
    calls: list[int] = []
    seen: list[str] = []

    class Client:
        async def put_sources(self, sources: Sequence[SourceRecord]) -> Sequence[int]:
            calls.append(sum(source.ByteSize() for source in sources))
            seen.extend(source.namespace for source in sources)
            return [source.feed_version for source in sources]

    rows = (await due(db))[:500]
    assert await PushSources(Client())(rows) == [True] * 500
    assert seen == [f"n{at}" for at in range(1, 501)]
    assert max(calls) < MAX_MESSAGE_BYTES / 2


@pytest.mark.parametrize(("known", "taken"), [(-1, False), (0, True), (5, True)])
async def test_feed_is_done_once_the_loader_knows_it_or_a_newer_one(db: Database, known: int, taken: bool) -> None:
    class Client:
        async def put_sources(self, sources: Sequence[SourceRecord]) -> Sequence[int]:
            return [source.feed_version + known for source in sources]

    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO feed VALUES ('shop', 'n', 7, 0, 1, %s, '', NULL, now(), now())",
            (SETTINGS.SerializeToString(),),
        )
    assert await PushSources(Client())(await due(db)) == [taken]


async def test_mark_moves_by_version_and_never_falls(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO feed VALUES ('shop', 'n', 7, 5, 1, %s, '', NULL, now(), now())",
            (SETTINGS.SerializeToString(),),
        )
        for pushed, mark in ((3, 5), (6, 6), (7, 7), (6, 7)):
            values = {"seller_ids": ["shop"], "namespaces": ["n"], "versions": [pushed]}
            await tx.execute(feeds.ADVANCE_PUBLISHED, values)
            cursor = await tx.execute("SELECT published_version FROM feed")
            assert await cursor.fetchone() == (mark,)


async def test_due_feeds_and_pages_are_found_by_their_indexes(db: Database) -> None:
    async with await psycopg.AsyncConnection.connect(db.dsn, options="-c search_path=api") as connection:
        await connection.execute(
            "INSERT INTO feed SELECT 's' || i % 100, 'n' || i, i, CASE WHEN i % 1000 = 0 THEN 0 ELSE i END, 1 + i % 3, "
            "'', '', NULL, now(), now() FROM generate_series(1, 20000) i"
        )
        await connection.execute(
            "INSERT INTO uploads SELECT gen_random_uuid(), 's' || i % 100, 'n' || i, NULL, 1, 1, '', '', 0, i, true, "
            "i, i, now() FROM generate_series(1, 20000) i"
        )
        await connection.execute("ANALYZE feed")
        await connection.execute("ANALYZE uploads")
        plans = {}
        for query in ("select_due", "list_feeds", "find_feed", "find_uploads", "newest_upload"):
            parameters = {"limit": 50, "seller_id": "s7", "namespace": "n7", "after": 1, "removed": 3, "active": 1}
            if query == "list_feeds":
                parameters["after"] = "n1"
            cursor = await connection.execute(
                "EXPLAIN " + load_queries("classifeed_api.store", "feeds.sql")[query], parameters
            )
            plans[query] = "\n".join(row[0] for row in await cursor.fetchall())
    assert "feed_due" in plans.pop("select_due")
    uploads = [plans.pop(query) for query in ("find_uploads", "newest_upload")]
    assert all("uploads_by_namespace" in plan for plan in (*uploads, plans["list_feeds"]))
    for plan in plans.values():
        assert "feed_pkey" in plan
        assert "Seq Scan" not in plan

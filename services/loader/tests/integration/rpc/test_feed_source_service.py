"""The promises to the api: versions never decrease, a change takes effect, a request takes effect once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from uuid import uuid4

import grpc
import pytest
from structlog.testing import capture_logs

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_source_service_pb2 import (
    GetFetchRequest,
    GetSourceStatesRequest,
    ListFetchesRequest,
    ListSourcesRequest,
)
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import OpenChannel
from classifeed_devkit.testing.texts import check_that_nul_is_refused

from ..conftest import Loader, MakeSource

PAUSED, REMOVED = feed_pb2.FEED_STATUS_PAUSED, feed_pb2.FEED_STATUS_REMOVED
VALIDATORS = "etag = 'e', last_modified = 'm', last_hash = 'h', last_bytes = 5"


async def reason_of(call: Awaitable[object]) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value).reason


async def validators(loader: Loader) -> tuple[str, str, str, int]:
    row: tuple[str, str, str, int]
    [row] = await loader.sql("SELECT etag, last_modified, last_hash, last_bytes FROM feed_loader_task")
    return row


async def test_a_new_source_is_due_at_once(loader: Loader, source: MakeSource) -> None:
    assert await loader.put(source()) == [1]
    assert len(loader.wakes) == 1
    assert await loader.due_in_s() == pytest.approx(0, abs=120)
    assert await loader.put(source(namespace="b", status=PAUSED), source(namespace="c", status=REMOVED)) == [1, 1]
    assert [await loader.has_slot(name) for name in ("b", "c")] == [False, False]


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(loader: Loader, rpc_channel: OpenChannel) -> None:
    await check_that_nul_is_refused(rpc_channel, loader.target, "loader", "classifeed.feeds.v1.FeedSourceService")


async def test_sources_are_listed_page_by_page_without_removed_ones(loader: Loader, source: MakeSource) -> None:
    await loader.put(*[source(namespace=name) for name in "dba"], source(namespace="c", status=REMOVED))
    names: list[list[str]] = []
    after = ""
    while page := (await loader.stub.ListSources(ListSourcesRequest(page_size=2, after=after))).names:
        names, after = [*names, list(page)], page[-1]
    seller = source().seller_id
    assert names == [[f"sellers/{seller}/feeds/{name}" for name in page] for page in ("ab", "d")]


async def test_an_older_version_changes_nothing(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(feed_version=5, url="http://new.test/"))
    assert await loader.put(source(feed_version=4, url="http://old.test/", status=PAUSED)) == [5]
    assert await loader.put(source(feed_version=5, url="http://same.test/", status=PAUSED)) == [5]
    assert await loader.sql("SELECT url, status FROM feed_loader_task") == [("http://new.test/", 1)]


async def test_a_stale_version_is_one_debug_line_with_its_key(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(feed_version=5))
    with capture_logs() as logs:
        await loader.put(source(feed_version=4), source(namespace="b"))
    stale = [line for line in logs if line["event"] == "loader.source.stale"]
    assert [(line["log_level"], line["namespace"], line["version"]) for line in stale] == [("debug", "default", 5)]


async def test_a_request_with_several_versions_of_a_source_leaves_the_newest(
    loader: Loader, source: MakeSource
) -> None:
    records = [source(feed_version=version, url=f"http://{version}.test/") for version in (2, 3, 1)]
    assert await loader.put(*records, source(namespace="b")) == [3, 3, 3, 1]
    assert await loader.sql("SELECT url FROM feed_loader_task WHERE namespace = 'default'") == [("http://3.test/",)]


async def test_versions_that_race_leave_the_newest(loader: Loader, source: MakeSource) -> None:
    async def push(version: int) -> None:
        [known] = await loader.put(source(feed_version=version, url=f"http://{version}.test/"))
        assert known >= version

    await asyncio.gather(*(push(version) for version in range(1, 30)))
    assert await loader.sql("SELECT feed_version, url FROM feed_loader_task") == [(29, "http://29.test/")]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"url": "http://127.0.0.1:1/other.xml"}, False),
        ({"sealed_credentials": b"x"}, False),
        ({"format": "yml"}, False),
        ({"default_currency": "KZT"}, False),
        ({"mode": 2}, True),
        ({"disposition": 2}, True),
        ({"interval_s": 7200}, True),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
async def test_what_a_site_said_is_kept_as_long_as_the_file_is_the_same(
    loader: Loader, source: MakeSource, change: dict[str, bytes | int | str], kept: bool
) -> None:
    await loader.put(source())
    await loader.sql(f"UPDATE feed_loader_task SET {VALIDATORS}, next_due_at = clock_timestamp() + interval '3000 s'")
    await loader.put(source(feed_version=2, **change))
    assert await validators(loader) == (("e", "m", "h", 5) if kept else ("", "", "", 0))
    at_once = change.keys() != {"interval_s"}
    assert await loader.due_in_s() == pytest.approx(0 if at_once else 3000, abs=120)


async def test_a_shorter_interval_holds_at_once_but_never_below_the_least(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(interval_s=36_000))
    await loader.sql("UPDATE feed_loader_task SET next_due_at = clock_timestamp() + interval '30000 s'")
    await loader.put(source(feed_version=2, interval_s=1))
    assert await loader.due_in_s() == pytest.approx(600, abs=120)


async def test_another_link_begins_without_failures(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    await loader.sql("UPDATE feed_loader_task SET failures = 7")
    await loader.put(source(feed_version=2, mode=2))
    assert (await loader.state()).failures == 7
    await loader.put(source(feed_version=3, url="http://other.test/"))
    assert (await loader.state()).failures == 0


async def test_paused_is_not_due_and_resumed_is_at_once(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    await loader.sql("UPDATE feed_loader_task SET next_due_at = clock_timestamp() + interval '3000 s'")
    await loader.put(source(feed_version=2, status=PAUSED))
    assert not (await loader.state()).HasField("next_fetch_time")
    assert await loader.schedule() == 0
    await loader.put(source(feed_version=3))
    assert await loader.due_in_s() == pytest.approx(0, abs=120)
    assert await loader.schedule() == 1


async def test_a_removed_source_keeps_its_version(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(feed_version=7, status=REMOVED))
    assert await loader.put(source(feed_version=6)) == [7]
    assert await loader.schedule() == 0
    assert await reason_of(loader.run(source(feed_version=6))) == "FEED_REMOVED"
    assert await loader.queued() == []
    assert await loader.put(source(feed_version=8)) == [8]
    assert await loader.schedule() == 1


async def test_run_takes_the_source_and_queues_one_fetch_for_a_request(loader: Loader, source: MakeSource) -> None:
    request_id = str(uuid4())
    first = await loader.run(source(feed_version=3, status=PAUSED), force=True, request_id=request_id)
    assert (first.outcome, first.trigger) == (feed_pb2.FETCH_OUTCOME_QUEUED, feed_pb2.FETCH_TRIGGER_REQUEST)
    assert (first.feed_version, first.forced) == (3, True)
    again = await asyncio.gather(*(loader.run(source(), request_id=request_id) for _ in range(5)))
    assert {fetch.name for fetch in again} == {first.name}
    assert await loader.queued() == [first.name]
    assert (await loader.state()).feed_version == 3


async def test_a_request_that_races_with_itself_makes_one_fetch(loader: Loader, source: MakeSource) -> None:
    request_id = str(uuid4())
    made = await asyncio.gather(*(loader.run(source(), request_id=request_id) for _ in range(8)))
    assert len({fetch.name for fetch in made}) == 1
    assert await loader.queued() == [made[0].name]


async def test_a_request_id_is_not_for_two_namespaces(loader: Loader, source: MakeSource) -> None:
    request_id = str(uuid4())
    await loader.run(source(), request_id=request_id)
    assert await reason_of(loader.run(source(namespace="b"), request_id=request_id)) == "REQUEST_ID_REUSED"


async def test_a_request_comes_before_what_is_scheduled(loader: Loader, source: MakeSource) -> None:
    await loader.put(source(), source(namespace="b"))
    assert await loader.schedule() == 2
    requested = await loader.run(source())
    assert (await loader.queued())[0] == requested.name


async def test_states_come_in_order_with_the_newest_fetch(loader: Loader, source: MakeSource) -> None:
    await loader.put(source())
    await loader.run(source())
    newest = await loader.run(source())
    names = ["sellers/shop/feeds/none", "sellers/shop/feeds/default"]
    unknown, known = (await loader.stub.GetSourceStates(GetSourceStatesRequest(names=names))).states
    assert (unknown.feed_version, unknown.HasField("last_fetch")) == (0, False)
    assert (known.feed_version, known.last_fetch.name) == (1, newest.name)
    assert known.HasField("next_fetch_time")
    assert not known.HasField("last_fetch_time")


async def test_fetches_are_listed_by_pages_the_newest_first(loader: Loader, source: MakeSource) -> None:
    made = [(await loader.run(source())).name for _ in range(5)]
    await loader.run(source(namespace="b"))
    request = ListFetchesRequest(parent="sellers/shop/feeds/default", page_size=2)
    seen = []
    while True:
        page = await loader.stub.ListFetches(request)
        seen += [fetch.name for fetch in page.fetches]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seen == made[::-1]
    request.page_token = "x"
    assert await reason_of(loader.stub.ListFetches(request)) == "PAGE_TOKEN_INVALID"


async def test_one_fetch_or_none(loader: Loader, source: MakeSource) -> None:
    made = await loader.run(source())
    assert await loader.stub.GetFetch(GetFetchRequest(name=made.name)) == made
    missing = GetFetchRequest(name=f"sellers/shop/feeds/default/fetches/{made.fetch_id + 1}")
    assert await reason_of(loader.stub.GetFetch(missing)) == "FETCH_NOT_FOUND"

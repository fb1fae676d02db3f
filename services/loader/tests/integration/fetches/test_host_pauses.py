"""The effect of a site's Retry-After on other feeds of its host."""

from __future__ import annotations

import asyncio

from classifeed.feeds.v1 import feed_pb2

from ...conftest import Page, Site, Tasks
from ..conftest import Fetching, Loader, MakeSource

QUEUED = feed_pb2.FETCH_OUTCOME_QUEUED
LOADED, FAILED = feed_pb2.FETCH_OUTCOME_LOADED, feed_pb2.FETCH_OUTCOME_FAILED
FEED = b"<yml_catalog/>"


async def test_a_long_pause_ends_fetches_of_the_same_seller_with_the_reason(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages |= {"/a.xml": page(status=429, headers={"Retry-After": "7200"}), "/b.xml": page(FEED)}
    fetching.start()
    await loader.put(source(namespace="a", url=site.url("/a.xml")))
    assert (await fetching.scheduled("a")).code == "HTTP_TOO_MANY_REQUESTS"
    await loader.put(source(namespace="b", url=site.url("/b.xml")))
    assert await loader.schedule() == 1
    [name] = [fetch.name for fetch in await loader.fetches("b")]
    fetch = await fetching.wait(name)
    assert (fetch.outcome, fetch.code) == (FAILED, "HOST_PAUSED")
    assert fetch.message.startswith("127.0.0.1 allows no requests before 20")
    assert "UTC. The next fetch runs after that time" in fetch.message
    [[due_s]] = await loader.sql(
        "SELECT extract(epoch FROM next_due_at - clock_timestamp())::float8 FROM feed_loader_task WHERE namespace = 'b'"
    )
    assert due_s > 6000
    assert (site.paths(), tasks.count()) == (["/a.xml"], 0)


async def test_others_wait_for_a_host_ten_minutes_at_most(
    fetching: Fetching, loader: Loader, site: Site, source: MakeSource, page: type[Page]
) -> None:
    """A day's Retry-After for one seller may come from the quota of that seller's account."""
    site.pages |= {"/a.xml": page(status=503, headers={"Retry-After": "86400"}), "/b.xml": page(FEED)}
    fetching.start()
    await loader.put(source(namespace="a", url=site.url("/a.xml")))
    assert (await fetching.scheduled("a")).code == "HTTP_UNAVAILABLE"
    await loader.put(source(seller_id="other", namespace="b", url=site.url("/b.xml")))
    assert await loader.schedule() == 1
    async with asyncio.timeout(120):
        while not await loader.sql("SELECT 1 FROM dl_job_events WHERE kind = 'snoozed'"):
            await asyncio.sleep(0.02)
    [[outcome, message]] = await loader.sql("SELECT outcome, message FROM feed_fetches WHERE seller_id = 'other'")
    assert outcome == QUEUED
    assert message.startswith("127.0.0.1 allows no requests before 20")
    waits = "SELECT extract(epoch FROM {} - clock_timestamp())::float8 FROM {}"
    [[job_s]] = await loader.sql(waits.format("available_at", "dl_jobs"))
    [[pause_s]] = await loader.sql(waits.format("paused_until", "fetch_hosts") + " WHERE host = '127.0.0.1'")
    assert 300 < pause_s <= job_s <= 640
    assert site.paths() == ["/a.xml"]
    # Ten minutes pass.
    await loader.sql("UPDATE fetch_hosts SET paused_until = clock_timestamp() WHERE host = '127.0.0.1'")
    await loader.sql("UPDATE dl_jobs SET available_at = clock_timestamp()")
    await fetching.settled()
    [[outcome, message]] = await loader.sql("SELECT outcome, message FROM feed_fetches WHERE seller_id = 'other'")
    assert (outcome, site.paths()) == (LOADED, ["/a.xml", "/b.xml"])
    assert "allows no requests" not in message

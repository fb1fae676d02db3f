"""What a Retry-After of a site means for the other feeds of its host."""

from __future__ import annotations

import asyncio
import time

from classifeed.feeds.v1 import feed_pb2

from ..conftest import Page, Site, Tasks
from .conftest import Fetching, Loader, MakeSource

LOADED, FAILED = feed_pb2.FETCH_OUTCOME_LOADED, feed_pb2.FETCH_OUTCOME_FAILED
FEED = b"<yml_catalog/>"


async def test_a_long_pause_ends_fetches_of_other_feeds_with_the_reason(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages |= {"/a.xml": page(status=429, headers={"Retry-After": "7200"}), "/b.xml": page(FEED)}
    fetching.start()
    await loader.put(source(namespace="a", url=site.url("/a.xml")))
    assert (await fetching.scheduled("a")).code == "HTTP_TOO_MANY_REQUESTS"
    await loader.put(source(seller_id="other", namespace="b", url=site.url("/b.xml")))
    assert await loader.schedule() == 1
    [[name]] = await loader.sql("SELECT idempotency_key FROM dl_jobs_all WHERE partition_key = 'other'")
    fetch = await fetching.wait(name)
    assert (fetch.outcome, fetch.code) == (FAILED, "HOST_PAUSED")
    assert fetch.message.startswith("127.0.0.1 wants no requests before 20")
    assert "UTC. The next fetch comes after that time" in fetch.message
    [[due_s]] = await loader.sql(
        "SELECT extract(epoch FROM next_due_at - clock_timestamp())::float8 FROM feed_loader_task WHERE namespace = 'b'"
    )
    assert due_s > 7000
    assert (site.paths(), tasks.count()) == (["/a.xml"], 0)


async def test_a_short_pause_is_waited_out(
    fetching: Fetching, loader: Loader, site: Site, source: MakeSource, page: type[Page]
) -> None:
    site.pages |= {"/a.xml": page(status=503, headers={"Retry-After": "4"}), "/b.xml": page(FEED)}
    fetching.start()
    await loader.put(source(namespace="a", url=site.url("/a.xml")))
    assert (await fetching.scheduled("a")).code == "HTTP_UNAVAILABLE"
    paused_s = time.monotonic()
    await loader.put(source(namespace="b", url=site.url("/b.xml")))
    assert await loader.schedule() == 1
    [fetch] = await loader.fetches("b")
    async with asyncio.timeout(120):
        while not await loader.sql("SELECT 1 FROM dl_jobs WHERE waits_for = 'time'"):
            await asyncio.sleep(0.02)
    assert (await fetching.wait(fetch.name)).outcome == LOADED
    assert time.monotonic() - paused_s > 3, "sent within the Retry-After"
    assert site.paths() == ["/a.xml", "/b.xml"]

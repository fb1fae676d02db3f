"""Shares of the fetch slots: links that hang delay only their own seller (ADR 0035)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_source_service_pb2 import ListFetchesRequest
from classifeed_common.fetch import AddressGuard, FetchLimits
from classifeed_common.fetch.fetcher import Fetcher

from ...conftest import Page, Site
from ..conftest import Fetching, Loader, MakeSource

LOADED = feed_pb2.FETCH_OUTCOME_LOADED
FEED = b"<yml_catalog/>"


@pytest.mark.parametrize("is_shared", [True, False], ids=["shares", "naive"])
async def test_dripping_links_of_one_seller_leave_slots_to_another(
    fetching: Fetching,
    loader: Loader,
    site: Site,
    source: MakeSource,
    page: type[Page],
    monkeypatch: pytest.MonkeyPatch,
    is_shared: bool,
) -> None:
    """There are no permits of hosts in this test, so only the shares help."""
    if not is_shared:
        monkeypatch.setattr("classifeed_jobs.worker.worker.Worker._slots", lambda *_: None)
    site.pages["/drip.xml"] = page(FEED, held=True)
    site.pages["/fast.xml"] = page(FEED)
    patient = Fetcher(guard=AddressGuard(allow_loopback=True), limits=FetchLimits(read_s=3600, disk_reserve_bytes=0))
    fetching.dependencies = replace(fetching.dependencies, downloader=patient)
    drips = [source(seller_id="flood", namespace=f"drip{n}", url=site.url("/drip.xml")) for n in range(12)]
    await loader.put(*drips)
    for record in drips:
        await loader.make_due(record.namespace, ago_s=60)
    assert await loader.schedule() == 12
    fetching.start()
    async with asyncio.timeout(120):
        while site.paths().count("/drip.xml") < (2 if is_shared else 4):
            await asyncio.sleep(0.02)
    await loader.put(source(url=site.url("/fast.xml")))
    await loader.make_due()
    assert await loader.schedule() == 1
    [fast] = (await loader.stub.ListFetches(ListFetchesRequest(parent="sellers/shop/feeds/default"))).fetches
    if is_shared:
        assert (await fetching.wait(fast.name)).outcome == LOADED
        assert site.paths().count("/drip.xml") == 2, "more than half of the four slots"
    else:
        with pytest.raises(TimeoutError):
            await fetching.wait(fast.name, limit_s=1)
    site.released.set()
    await fetching.settled()
    await fetching.stop()
    await patient.close()


async def test_fetch_queued_by_the_version_before_is_run(
    fetching: Fetching, loader: Loader, site: Site, source: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    await loader.put(source(url=site.url("/feed.xml")))
    await loader.make_due()
    assert await loader.schedule() == 1
    assert await loader.sql("UPDATE dl_jobs SET partition_key = NULL RETURNING 1") == [(1,)]
    [fetch] = await loader.fetches()
    fetching.start()
    assert (await fetching.wait(fetch.name)).outcome == LOADED

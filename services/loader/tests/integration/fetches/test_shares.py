"""Shares of the fetch slots: links that hang delay only their own seller (ADR 0035)."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed_devkit.testing.recovery import until

from .conftest import Scene

LOADED = feed_pb2.FETCH_OUTCOME_LOADED


@pytest.mark.parametrize("is_shared", [True, False], ids=["shares", "naive"])
async def test_dripping_links_of_one_seller_leave_slots_to_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, is_shared: bool
) -> None:
    """There are no permits of hosts in this test, so only the shares help."""
    if not is_shared:
        monkeypatch.setattr("classifeed_jobs.worker.worker.Worker._slots", lambda *_: None)
    scene.serve(path="/drip.xml", held=True)
    scene.serve(path="/fast.xml")
    scene.limit_downloads(read_s=3600)
    drips = [scene.feed("/drip.xml", seller_id="flood", namespace=f"drip{n}") for n in range(12)]
    await scene.put(*drips)
    for record in drips:
        await scene.make_due(record.namespace, ago_s=60)
    assert await scene.schedule() == 12
    scene.start()
    await until(lambda: scene.site.paths().count("/drip.xml") >= (2 if is_shared else 4))
    await scene.put(scene.feed("/fast.xml"))
    await scene.make_due()
    assert await scene.schedule() == 1
    [fast] = await scene.fetches()
    if is_shared:
        assert (await scene.wait(fast.name)).outcome == LOADED
        assert scene.site.paths().count("/drip.xml") == 2, "more than half of the four slots"
    else:
        with pytest.raises(TimeoutError):
            await scene.wait(fast.name, limit_s=1)
    scene.site.released.set()
    await scene.settled()


async def test_fetch_queued_by_the_version_before_is_run(scene: Scene) -> None:
    scene.serve()
    await scene.put(scene.feed("/feed.xml"))
    await scene.make_due()
    assert await scene.schedule() == 1
    assert await scene.sql("UPDATE dl_jobs SET partition_key = NULL RETURNING 1") == [(1,)]
    [fetch] = await scene.fetches()
    scene.start()
    assert (await scene.wait(fetch.name)).outcome == LOADED

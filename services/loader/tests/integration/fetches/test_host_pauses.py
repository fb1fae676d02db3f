"""The effect of a site's Retry-After on other feeds of its host."""

from __future__ import annotations

from classifeed.feeds.v1 import feed_pb2

from .conftest import Scene

QUEUED = feed_pb2.FETCH_OUTCOME_QUEUED
LOADED, FAILED = feed_pb2.FETCH_OUTCOME_LOADED, feed_pb2.FETCH_OUTCOME_FAILED


async def test_a_long_pause_ends_fetches_of_the_same_seller_with_the_reason(scene: Scene) -> None:
    scene.serve(b"", "/a.xml", status=429, headers={"Retry-After": "7200"})
    scene.serve(path="/b.xml")
    await scene.start_feed("/a.xml", namespace="a")
    assert (await scene.scheduled("a")).code == "HTTP_TOO_MANY_REQUESTS"
    await scene.put(scene.feed("/b.xml", namespace="b"))
    assert await scene.schedule() == 1
    [queued] = await scene.fetches("b")
    fetch = await scene.wait(queued.name)
    assert (fetch.outcome, fetch.code) == (FAILED, "HOST_PAUSED")
    assert fetch.message.startswith("127.0.0.1 allows no requests before 20")
    assert "UTC. The next fetch runs after that time" in fetch.message
    assert await scene.due_in_s("b") > 6000
    assert (scene.site.paths(), scene.tasks.count()) == (["/a.xml"], 0)


async def test_others_wait_for_a_host_ten_minutes_at_most(scene: Scene) -> None:
    """A day's Retry-After for one seller may come from the quota of that seller's account."""
    scene.serve(b"", "/a.xml", status=503, headers={"Retry-After": "86400"})
    scene.serve(path="/b.xml")
    await scene.start_feed("/a.xml", namespace="a")
    assert (await scene.scheduled("a")).code == "HTTP_UNAVAILABLE"
    await scene.put(scene.feed("/b.xml", seller_id="other", namespace="b"))
    assert await scene.schedule() == 1
    await scene.until_found("SELECT 1 FROM dl_job_events WHERE kind = 'snoozed'")
    [[outcome, message]] = await scene.sql("SELECT outcome, message FROM feed_fetches WHERE seller_id = 'other'")
    assert outcome == QUEUED
    assert message.startswith("127.0.0.1 allows no requests before 20")
    waits = "SELECT extract(epoch FROM {} - clock_timestamp())::float8 FROM {}"
    [[job_s]] = await scene.sql(waits.format("available_at", "dl_jobs"))
    [[pause_s]] = await scene.sql(waits.format("paused_until", "fetch_hosts") + " WHERE host = '127.0.0.1'")
    assert 300 < pause_s <= job_s <= 640
    assert scene.site.paths() == ["/a.xml"]
    # Ten minutes pass.
    await scene.sql("UPDATE fetch_hosts SET paused_until = clock_timestamp() WHERE host = '127.0.0.1'")
    await scene.sql("UPDATE dl_jobs SET available_at = clock_timestamp()")
    await scene.settled()
    [[outcome, message]] = await scene.sql("SELECT outcome, message FROM feed_fetches WHERE seller_id = 'other'")
    assert (outcome, scene.site.paths()) == (LOADED, ["/a.xml", "/b.xml"])
    assert "allows no requests" not in message

"""The outcomes of fetches, with real downloads, a real object store and a fake processor."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from classifeed.feeds.v1 import feed_pb2, load_pb2
from classifeed.feeds.v1.feed_pb2 import FeedCredentials, FeedStatus
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobStore
from classifeed_devkit.testing.recovery import until
from classifeed_jobs.metrics import RUNNING
from classifeed_loader import metrics
from classifeed_loader.app.queue_fetches import QUEUE

from ...conftest import Page
from ..conftest import make_source
from .conftest import FEED, Scene

PAUSED, REMOVED = feed_pb2.FEED_STATUS_PAUSED, feed_pb2.FEED_STATUS_REMOVED
LOADED = feed_pb2.FETCH_OUTCOME_LOADED
NOT_MODIFIED = feed_pb2.FETCH_OUTCOME_NOT_MODIFIED
SAME_CONTENT = feed_pb2.FETCH_OUTCOME_SAME_CONTENT
FAILED = feed_pb2.FETCH_OUTCOME_FAILED
DROPPED = feed_pb2.FETCH_OUTCOME_DROPPED


def counts() -> list[float]:
    """Return the metrics of loaded fetches, unchanged files and fetched bytes."""
    ends = [metrics.FETCHES.labels(outcome, "")._value.get() for outcome in ("loaded", "not_modified")]
    return [*ends, metrics.FETCHED_BYTES._value.get()]


async def test_a_file_is_stored_and_handed_over(scene: Scene, blobs: BlobStore, tmp_path: Path) -> None:
    scene.serve(etag='"1"')
    await scene.start_feed(
        feed_version=3, mode=load_pb2.LOAD_MODE_PATCH, format="yml", disposition=2, default_currency="KZT"
    )
    fetch = await scene.scheduled()
    sha256 = hashlib.sha256(FEED).hexdigest()
    assert (fetch.outcome, fetch.task, fetch.code) == (LOADED, "sellers/shop/feeds/default/tasks/1", "")
    assert (fetch.sha256, fetch.bytes, fetch.http_status, fetch.final_url) == (sha256, len(FEED), 200, "")
    assert fetch.create_time.ToDatetime() <= fetch.start_time.ToDatetime() <= fetch.download_time.ToDatetime()
    assert fetch.download_time.ToDatetime() <= fetch.end_time.ToDatetime()
    [request] = scene.tasks.requests
    assert (request.source_sha256, request.source_bytes, request.skip_if_loaded) == (sha256, len(FEED), True)
    assert (request.feed_version, request.feed_loader_result_id) == (3, fetch.fetch_id)
    assert (request.mode, request.disposition, request.format) == (load_pb2.LOAD_MODE_PATCH, 2, "yml")
    assert request.default_currency == "KZT"
    assert (await scene.state()).last_fetch == fetch
    assert (await scene.state()).last_fetch_time == fetch.download_time
    assert await blobs.fetch(sha256, tmp_path / "back") == len(FEED)
    assert await scene.sql("SELECT ref, sha256 FROM blob_refs") == [(f"fetch:{fetch.fetch_id}", sha256)]


async def test_what_the_site_says_is_as_before_makes_no_task(scene: Scene) -> None:
    scene.serve(etag='"1"')
    counted = counts()
    await scene.start_feed()
    first = await scene.scheduled()
    before = (await scene.state()).last_fetch_time
    second = await scene.scheduled()
    assert (second.outcome, second.task, scene.tasks.count()) == (NOT_MODIFIED, first.task, 1)
    assert (second.http_status, second.sha256, second.bytes) == (304, first.sha256, len(FEED))
    assert not second.HasField("download_time")
    assert scene.site.requests[1][1]["if-none-match"] == '"1"'
    assert (await scene.state()).last_fetch_time.ToDatetime() > before.ToDatetime()
    assert (await scene.scheduled()).outcome == NOT_MODIFIED
    grown = [now - then for now, then in zip(counts(), counted, strict=True)]
    # The last fetch may not be counted yet.
    assert (grown[0], grown[1] in {1, 2}, grown[2]) == (1, True, len(FEED)), "an unchanged file adds no bytes"


async def test_the_same_bytes_make_no_task(scene: Scene) -> None:
    scene.serve()
    await scene.start_feed()
    first = await scene.scheduled()
    second = await scene.scheduled()
    assert (second.outcome, second.task, scene.tasks.count()) == (SAME_CONTENT, first.task, 1)
    assert second.http_status == 200
    scene.serve(FEED + b"\n")
    assert (await scene.scheduled()).outcome == LOADED
    assert scene.tasks.count() == 2


async def test_new_settings_load_a_file_that_is_as_before(scene: Scene) -> None:
    scene.serve(etag='"1"')
    await scene.start_feed()
    first = await scene.scheduled()
    await scene.put(scene.feed(feed_version=2, disposition=load_pb2.DISPOSITION_MAKE_MANUAL))
    second = await scene.scheduled()
    assert (second.outcome, second.http_status) == (LOADED, 304)
    assert [request.source_sha256 for request in scene.tasks.requests] == [first.sha256] * 2
    assert scene.tasks.count() == 2


async def test_a_forced_fetch_loads_whatever_comes(scene: Scene) -> None:
    scene.serve(etag='"1"')
    await scene.start_feed()
    await scene.scheduled()
    assert (await scene.requested(force=True)).outcome == LOADED
    assert "if-none-match" not in scene.site.requests[1][1]
    assert (scene.tasks.count(), scene.tasks.requests[1].skip_if_loaded) == (2, False)


@pytest.mark.parametrize(
    ("given", "code", "least_wait_s"),
    [
        ({"down": True}, "CONNECT_REFUSED", 3600),
        ({"held": True}, "READ_TIMEOUT", 3600),
        ({"status": 404}, "HTTP_NOT_FOUND", 3600),
        ({"status": 500, "headers": {"Retry-After": "7200"}}, "HTTP_SERVER_ERROR", 7200),
        ({"endless": True}, "TOO_LARGE", 3600),
        ({"status": 302, "headers": {"Location": "/feed.xml"}}, "REDIRECT_LOOP", 3600),
        ({"content": b""}, "EMPTY_RESPONSE", 3600),
    ],
    ids=["down", "slow", "404", "500", "endless", "loop", "empty"],
)
async def test_a_failure_is_told_and_waited_out(
    scene: Scene, given: dict[str, Any], code: str, least_wait_s: int
) -> None:
    given = dict(given)
    record = make_source(url="http://127.0.0.1:9/feed.xml?key=secret") if given.pop("down", False) else scene.feed()
    if given.get("held"):
        scene.limit_downloads(read_s=0.5)
    scene.site.pages["/feed.xml"] = Page(**given)
    scene.start()
    await scene.put(record)
    fetch = await scene.scheduled()
    assert (fetch.outcome, fetch.code, scene.tasks.count()) == (FAILED, code, 0)
    assert fetch.http_status == given.get("status", 200 if {"endless", "content"} & given.keys() else 0)
    assert fetch.bytes >= (1 << 20 if "endless" in given else 0)
    assert len(fetch.message) > 40
    assert "secret" not in str(fetch)
    state = await scene.state()
    assert (state.failures, state.HasField("last_fetch_time")) == (1, False)
    assert least_wait_s - 120 <= await scene.due_in_s() <= least_wait_s * 1.1 + 5
    await scene.settled()


async def test_waits_grow_with_the_failures_and_end_with_a_success(scene: Scene) -> None:
    await scene.start_feed(interval_s=600)
    waits = []
    for _ in range(13):
        assert (await scene.scheduled()).outcome == FAILED
        waits.append(await scene.due_in_s())
    expected = [600, 600, 600, *(60 * 2**n for n in range(4, 11)), 86400, 86400, 86400]
    assert all(low - 120 <= wait <= low * 1.1 + 5 for low, wait in zip(expected, waits, strict=True))
    assert (await scene.state()).failures == 13
    scene.serve()
    assert (await scene.requested()).outcome == LOADED
    assert (await scene.state()).failures == 0
    assert await scene.due_in_s() <= 665


async def test_one_slow_host_keeps_no_other_waiting(scene: Scene) -> None:
    scene.serve(path="/slow.xml", held=True)
    scene.serve(path="/fast.xml")
    scene.limit_downloads(scene.permits, read_s=3600)
    scene.concurrency = 4  # one seller gets two of them
    scene.start()
    slow = [scene.feed("/slow.xml", namespace=f"slow{n}") for n in range(6)]
    await scene.put(*slow, scene.feed("/fast.xml", "localhost", namespace="fast"))
    for record in slow:
        await scene.make_due(record.namespace, ago_s=60)
    assert await scene.schedule() == 7
    [fast] = await scene.fetches("fast")
    assert (await scene.wait(fast.name)).outcome == LOADED
    assert scene.site.paths().count("/slow.xml") == 1
    scene.site.released.set()


async def test_the_oldest_is_fetched_first(scene: Scene) -> None:
    names = ["c", "a", "d", "b"]
    for name in names:
        scene.serve(path=f"/{name}.xml")
    await scene.put(*(scene.feed(f"/{name}.xml", namespace=name) for name in names))
    for ago_s, name in enumerate(names):
        await scene.make_due(name, ago_s=1000 - ago_s)
    assert await scene.schedule() == 4
    scene.concurrency = 1
    scene.start()
    await scene.settled()
    assert scene.site.paths() == [f"/{name}.xml" for name in names]


async def test_credentials_are_sent_to_the_site_and_shown_nowhere(scene: Scene) -> None:
    scene.serve()
    credentials = FeedCredentials(headers={"X-Key": "sesame"})
    credentials.basic_auth.username, credentials.basic_auth.password = "shop", "open"
    encrypted = scene.cipher.encrypt(credentials.SerializeToString(), "shop/default")
    await scene.start_feed(sealed_credentials=encrypted)
    fetch = await scene.scheduled()
    assert fetch.outcome == LOADED
    [(_, headers)] = scene.site.requests
    assert (headers["authorization"], headers["x-key"]) == ("basic c2hvcdpvcgvu", "sesame")
    assert "sesame" not in str(fetch)


@pytest.mark.parametrize("wrong", ["context", "key", "none"])
async def test_credentials_that_cannot_be_read_end_the_fetch(scene: Scene, wrong: str) -> None:
    scene.serve()
    cipher = CredentialCipher([b"k" * 32]) if wrong == "key" else scene.cipher
    encrypted = cipher.encrypt(
        FeedCredentials().SerializeToString(), "other/default" if wrong == "context" else "shop/default"
    )
    if wrong == "none":
        scene.use(cipher=None)
    await scene.start_feed(sealed_credentials=encrypted)
    fetch = await scene.scheduled()
    assert (fetch.outcome, fetch.code, scene.site.requests) == (FAILED, "CREDENTIALS_UNREADABLE", [])


async def test_where_a_file_came_from_is_told_without_its_query(scene: Scene) -> None:
    scene.serve(b"", status=302, headers={"Location": "/moved.xml?key=secret"})
    scene.serve(path="/moved.xml")
    await scene.start_feed(path="/feed.xml?key=own")
    fetch = await scene.scheduled()
    assert (fetch.outcome, fetch.final_url) == (LOADED, scene.site.url("/moved.xml"))


@pytest.mark.parametrize("status", [PAUSED, REMOVED])
async def test_what_waits_is_dropped_when_the_feed_stops(scene: Scene, status: FeedStatus) -> None:
    scene.serve()
    await scene.put(scene.feed())
    assert await scene.schedule() == 1
    requested = await scene.run(scene.feed())
    await scene.put(scene.feed(feed_version=2, status=status))
    scene.start()
    await scene.settled()
    assert {fetch.outcome for fetch in await scene.fetches()} == {DROPPED}
    assert (await scene.wait(requested.name)).message
    assert (scene.site.requests, await scene.has_slot()) == ([], False)


async def test_a_paused_feed_is_fetched_when_somebody_asks(scene: Scene) -> None:
    scene.serve()
    scene.start()
    assert (await scene.requested(status=PAUSED)).outcome == LOADED
    assert (await scene.state()).HasField("next_fetch_time") is False
    scene.serve(b"", status=404)
    assert (await scene.requested(status=PAUSED)).outcome == FAILED
    assert ((await scene.state()).failures, await scene.has_slot()) == (1, False)


@pytest.mark.parametrize("status", [200, 404])
async def test_a_change_during_the_download_drops_it_and_fetches_anew(scene: Scene, status: int) -> None:
    scene.serve(status=status, held=True)
    scene.serve(FEED + b"new", "/new.xml")
    await scene.start_feed()
    assert await scene.schedule() == 1
    await scene.site.requested.wait()
    await scene.put(scene.feed(path="/new.xml", feed_version=2))
    assert await scene.schedule() == 0  # one fetch of a source at a time
    scene.site.released.set()
    [old] = await scene.fetches()
    outcome = (await scene.wait(old.name)).outcome
    assert (outcome, scene.tasks.count()) == (DROPPED if status == 200 else FAILED, 0)
    assert ((await scene.state()).failures, await scene.due_in_s() <= 0) == (0, True)
    assert await scene.schedule() == 1
    await scene.settled()
    [newest, _] = await scene.fetches()
    assert (newest.outcome, newest.feed_version, scene.tasks.count()) == (LOADED, 2, 1)


async def test_while_the_processor_is_away_nothing_is_fetched_twice(scene: Scene) -> None:
    scene.serve()
    scene.tasks.down = True
    await scene.start_feed()
    assert await scene.schedule() == 1
    await scene.until_found("SELECT 1 FROM dl_jobs WHERE waits_for = 'time'")
    [fetch] = await scene.fetches()
    assert fetch.outcome == feed_pb2.FETCH_OUTCOME_RUNNING
    scene.tasks.down = False
    assert (await scene.wait(fetch.name)).outcome == LOADED
    assert (len(scene.site.requests), scene.tasks.count()) == (1, 1)


async def test_a_task_whose_answer_was_lost_is_the_fetchs_own(scene: Scene) -> None:
    scene.serve()
    scene.tasks.drops_responses = 1
    await scene.start_feed()
    fetch = await scene.scheduled()
    assert (fetch.outcome, len(scene.site.requests)) == (LOADED, 1)
    assert (scene.tasks.count(), len(scene.tasks.requests)) == (1, 2)


@pytest.mark.parametrize("during", ["download", "hand-over"])
async def test_one_whose_claim_is_gone_writes_nothing(scene: Scene, during: str) -> None:
    scene.serve(held=during == "download")
    scene.tasks.held = asyncio.Event()
    await scene.start_feed()
    assert await scene.schedule() == 1
    await until(lambda: bool(scene.site.requests if during == "download" else scene.tasks.requests))
    # Another process has claimed the job; the worker learns this only with its next heartbeat.
    await scene.sql(
        "INSERT INTO dl_workers (worker_id, queues, renewed_at)"
        " VALUES ('another', '{}', clock_timestamp() + interval '1 day')"
    )
    await scene.sql("UPDATE dl_jobs SET claim_no = claim_no + 1, claimed_by = 'another'")
    before = await scene.fetches(), await scene.state()
    scene.site.released.set()
    scene.tasks.held.set()
    await until(lambda: not RUNNING.labels(QUEUE)._value.get())
    assert (await scene.fetches(), await scene.state()) == before
    assert len(await scene.sql("SELECT 1 FROM blob_refs")) == (0 if during == "download" else 1)


async def test_a_refused_task_ends_the_fetch_in_words(scene: Scene) -> None:
    scene.serve(etag='"1"')
    scene.tasks.refuses = True
    await scene.start_feed()
    fetch = await scene.scheduled()
    assert (fetch.outcome, fetch.code, fetch.http_status) == (FAILED, "TASK_REFUSED", 200)
    assert "The format is not known here." in fetch.message
    scene.tasks.refuses = False
    # The file was never loaded, so the request is unconditional.
    assert (await scene.scheduled()).outcome == LOADED
    assert "if-none-match" not in scene.site.requests[1][1]


async def test_nothing_is_asked_of_the_site_while_files_cannot_be_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.serve()
    checks = 0
    check = scene.dependencies.blobs.check

    async def away_at_first() -> None:
        nonlocal checks
        checks += 1
        if checks == 1:
            raise ConnectionError("the object store is away")
        await check()

    monkeypatch.setattr(scene.dependencies.blobs, "check", away_at_first)
    await scene.start_feed()
    assert (await scene.scheduled()).outcome == LOADED
    assert (checks, len(scene.site.requests)) == (2, 1)


async def test_history_is_kept_short_without_the_file_that_is_asked_about(scene: Scene) -> None:
    scene.serve(etag='"1"')
    scene.use(history_fetches=3)
    await scene.start_feed()
    first = await scene.scheduled()
    scene.serve(b"", status=404)
    failed = [await scene.scheduled() for _ in range(5)]
    await scene.settled()
    kept = [fetch.name for fetch in await scene.fetches()]
    assert kept == [*(fetch.name for fetch in failed[:1:-1]), first.name]
    scene.serve(etag='"1"')
    for _ in range(4):
        assert (await scene.scheduled()).outcome == NOT_MODIFIED
    await scene.settled()
    kept = [f"fetch:{fetch.fetch_id}" for fetch in await scene.fetches()]
    assert (len(kept), f"fetch:{first.fetch_id}" in kept) == (5, True), "it created a task, and is removed after that"
    assert [ref for (ref,) in await scene.sql("SELECT ref FROM blob_refs ORDER BY ref DESC")] == sorted(kept)[::-1]


async def test_operators_see_what_waits_and_what_is_held(scene: Scene) -> None:
    scene.serve(held=True)
    await scene.put(scene.feed())
    await scene.schedule()
    [fetch] = await scene.fetches()
    assert await scene.sql("SELECT seller_id, namespace, task_id FROM task_queue") == [
        ("shop", "default", fetch.fetch_id)
    ]
    assert await scene.sql("SELECT * FROM feed_locks") == []
    scene.start()
    await scene.site.requested.wait()
    locks = await scene.sql("SELECT context, seller_id, namespace, acquired < clock_timestamp() FROM feed_locks")
    assert locks == [("feedloader", "shop", "default", True)]
    scene.site.released.set()
    await scene.settled()
    assert await scene.sql("SELECT * FROM feed_locks") == []


CALLS = [
    ("blobs", "check"),
    ("downloader", "fetch"),
    ("refs", "add"),
    ("blobs", "put_file"),
    ("tasks", "create_task"),
    ("fetching", "note_file"),
    ("fetching", "begin"),
    ("fetching", "end"),
    ("fetching", "note_success"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("part", "name"), CALLS, ids=[f"{part}.{name}" for part, name in CALLS])
async def test_a_fault_at_any_step_loses_nothing_and_makes_one_task(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, part: str, name: str, after: bool
) -> None:
    from classifeed_loader.store import fetching as statements

    scene.serve()
    owner = statements if part == "fetching" else getattr(scene.dependencies, part)
    real = getattr(owner, name)
    faults = 0

    async def breaks_once(*args: Any, **kwargs: Any) -> Any:
        nonlocal faults
        if not faults and not after:
            faults += 1
            raise ConnectionError("broken")
        response = await real(*args, **kwargs)
        if not faults:
            faults += 1
            raise ConnectionError("broken")
        return response

    monkeypatch.setattr(owner, name, breaks_once)
    await scene.start_feed()
    fetch = await scene.scheduled()
    assert (fetch.outcome, scene.tasks.count(), faults) == (LOADED, 1, 1)
    is_stored = (part, name) in (("tasks", "create_task"), ("fetching", "end"), ("fetching", "note_success"))
    assert len(scene.site.requests) == (
        1 if is_stored or name in ("check", "begin") or (name, after) == ("fetch", False) else 2
    )
    assert len(await scene.sql("SELECT 1 FROM feed_fetches")) == 1
    await scene.settled()
    assert ((await scene.state()).failures, len(await scene.sql("SELECT 1 FROM blob_refs"))) == (0, 1)

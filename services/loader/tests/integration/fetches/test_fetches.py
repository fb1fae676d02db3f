"""The outcomes of fetches, with real downloads, a real object store and a fake processor."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classifeed.feeds.v1 import feed_pb2, load_pb2
from classifeed.feeds.v1.feed_pb2 import FeedCredentials, FeedStatus
from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobStore
from classifeed_common.fetch import AddressGuard, FetchLimits
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostPolicy, OwnerLimits
from classifeed_jobs.metrics import RUNNING
from classifeed_loader import metrics
from classifeed_loader.app.queue_fetches import QUEUE

from ...conftest import Page, Site, Tasks
from ..conftest import Fetching, Loader, MakeSource

PAUSED, REMOVED = feed_pb2.FEED_STATUS_PAUSED, feed_pb2.FEED_STATUS_REMOVED
LOADED = feed_pb2.FETCH_OUTCOME_LOADED
NOT_MODIFIED = feed_pb2.FETCH_OUTCOME_NOT_MODIFIED
SAME_CONTENT = feed_pb2.FETCH_OUTCOME_SAME_CONTENT
FAILED = feed_pb2.FETCH_OUTCOME_FAILED
DROPPED = feed_pb2.FETCH_OUTCOME_DROPPED
FEED = b"<yml_catalog/>"


@pytest.fixture
def feed(site: Site, source: MakeSource) -> MakeSource:
    """Return a factory of sources for pages of the site."""

    def make(path: str = "/feed.xml", **fields: Any) -> SourceRecord:
        return source(url=site.url(path), **fields)

    return make


def counts() -> list[float]:
    """Return the metrics of loaded fetches, unchanged files and fetched bytes."""
    ends = [metrics.FETCHES.labels(outcome, "")._value.get() for outcome in ("loaded", "not_modified")]
    return [*ends, metrics.FETCHED_BYTES._value.get()]


async def test_a_file_is_stored_and_handed_over(
    fetching: Fetching,
    loader: Loader,
    site: Site,
    tasks: Tasks,
    feed: MakeSource,
    page: type[Page],
    blobs: BlobStore,
    tmp_path: Path,
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    fetching.start()
    await loader.put(
        feed(feed_version=3, mode=load_pb2.LOAD_MODE_PATCH, format="yml", disposition=2, default_currency="KZT")
    )
    fetch = await fetching.scheduled()
    sha256 = hashlib.sha256(FEED).hexdigest()
    assert (fetch.outcome, fetch.task, fetch.code) == (LOADED, "sellers/shop/feeds/default/tasks/1", "")
    assert (fetch.sha256, fetch.bytes, fetch.http_status, fetch.final_url) == (sha256, len(FEED), 200, "")
    assert fetch.create_time.ToDatetime() <= fetch.start_time.ToDatetime() <= fetch.download_time.ToDatetime()
    assert fetch.download_time.ToDatetime() <= fetch.end_time.ToDatetime()
    [request] = tasks.requests
    assert (request.source_sha256, request.source_bytes, request.skip_if_loaded) == (sha256, len(FEED), True)
    assert (request.feed_version, request.feed_loader_result_id) == (3, fetch.fetch_id)
    assert (request.mode, request.disposition, request.format) == (load_pb2.LOAD_MODE_PATCH, 2, "yml")
    assert request.default_currency == "KZT"
    assert (await loader.state()).last_fetch == fetch
    assert (await loader.state()).last_fetch_time == fetch.download_time
    assert await blobs.fetch(sha256, tmp_path / "back") == len(FEED)
    assert await loader.sql("SELECT ref, sha256 FROM blob_refs") == [(f"fetch:{fetch.fetch_id}", sha256)]


async def test_what_the_site_says_is_as_before_makes_no_task(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    counted = counts()
    fetching.start()
    await loader.put(feed())
    first = await fetching.scheduled()
    before = (await loader.state()).last_fetch_time
    second = await fetching.scheduled()
    assert (second.outcome, second.task, tasks.count()) == (NOT_MODIFIED, first.task, 1)
    assert (second.http_status, second.sha256, second.bytes) == (304, first.sha256, len(FEED))
    assert not second.HasField("download_time")
    assert site.requests[1][1]["if-none-match"] == '"1"'
    assert (await loader.state()).last_fetch_time.ToDatetime() > before.ToDatetime()
    assert (await fetching.scheduled()).outcome == NOT_MODIFIED
    grown = [now - then for now, then in zip(counts(), counted, strict=True)]
    # The last fetch may not be counted yet.
    assert (grown[0], grown[1] in {1, 2}, grown[2]) == (1, True, len(FEED)), "an unchanged file adds no bytes"


async def test_the_same_bytes_make_no_task(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    fetching.start()
    await loader.put(feed())
    first = await fetching.scheduled()
    second = await fetching.scheduled()
    assert (second.outcome, second.task, tasks.count()) == (SAME_CONTENT, first.task, 1)
    assert second.http_status == 200
    site.pages["/feed.xml"] = page(FEED + b"\n")
    assert (await fetching.scheduled()).outcome == LOADED
    assert tasks.count() == 2


async def test_new_settings_load_a_file_that_is_as_before(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    fetching.start()
    await loader.put(feed())
    first = await fetching.scheduled()
    await loader.put(feed(feed_version=2, disposition=load_pb2.DISPOSITION_MAKE_MANUAL))
    second = await fetching.scheduled()
    assert (second.outcome, second.http_status) == (LOADED, 304)
    assert [request.source_sha256 for request in tasks.requests] == [first.sha256] * 2
    assert tasks.count() == 2


async def test_a_forced_fetch_loads_whatever_comes(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    fetching.start()
    await loader.put(feed())
    await fetching.scheduled()
    requested = await loader.run(feed(), force=True)
    assert (await fetching.wait(requested.name)).outcome == LOADED
    assert "if-none-match" not in site.requests[1][1]
    assert (tasks.count(), tasks.requests[1].skip_if_loaded) == (2, False)


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
    fetching: Fetching,
    loader: Loader,
    site: Site,
    tasks: Tasks,
    feed: MakeSource,
    source: MakeSource,
    page: type[Page],
    given: dict[str, Any],
    code: str,
    least_wait_s: int,
) -> None:
    given = dict(given)
    record = source(url="http://127.0.0.1:9/feed.xml?key=secret") if given.pop("down", False) else feed()
    if given.get("held"):
        hasty = Fetcher(guard=AddressGuard(allow_loopback=True), limits=FetchLimits(read_s=0.5, disk_reserve_bytes=0))
        fetching.dependencies = replace(fetching.dependencies, downloader=hasty)
    site.pages["/feed.xml"] = page(**given)
    fetching.start()
    await loader.put(record)
    fetch = await fetching.scheduled()
    assert (fetch.outcome, fetch.code, tasks.count()) == (FAILED, code, 0)
    assert fetch.http_status == given.get("status", 200 if {"endless", "content"} & given.keys() else 0)
    assert fetch.bytes >= (1 << 20 if "endless" in given else 0)
    assert len(fetch.message) > 40
    assert "secret" not in str(fetch)
    state = await loader.state()
    assert (state.failures, state.HasField("last_fetch_time")) == (1, False)
    assert least_wait_s - 120 <= await loader.due_in_s() <= least_wait_s * 1.1 + 5
    await fetching.settled()


async def test_waits_grow_with_the_failures_and_end_with_a_success(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    fetching.start()
    await loader.put(feed(interval_s=600))
    waits = []
    for _ in range(13):
        assert (await fetching.scheduled()).outcome == FAILED
        waits.append(await loader.due_in_s())
    expected = [600, 600, 600, *(60 * 2**n for n in range(4, 11)), 86400, 86400, 86400]
    assert all(low - 120 <= wait <= low * 1.1 + 5 for low, wait in zip(expected, waits, strict=True))
    assert (await loader.state()).failures == 13
    site.pages["/feed.xml"] = page(FEED)
    requested = await loader.run(feed())
    assert (await fetching.wait(requested.name)).outcome == LOADED
    assert (await loader.state()).failures == 0
    assert await loader.due_in_s() <= 665


async def test_one_slow_host_keeps_no_other_waiting(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, source: MakeSource, page: type[Page]
) -> None:
    site.pages["/slow.xml"] = page(FEED, held=True)
    site.pages["/fast.xml"] = page(FEED)
    permits = OwnerLimits(loader.database, HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=2, max_wait_s=0.1))
    patient = Fetcher(
        guard=AddressGuard(allow_loopback=True),
        limits=FetchLimits(read_s=3600, disk_reserve_bytes=0),
        permits=permits,
    )
    fetching.dependencies = replace(fetching.dependencies, downloader=patient)
    fetching.concurrency = 4  # one seller gets two of them
    fetching.start()
    slow = [source(namespace=f"slow{n}", url=site.url("/slow.xml")) for n in range(6)]
    await loader.put(*slow, source(namespace="fast", url=site.url("/fast.xml", host="localhost")))
    for record in slow:
        await loader.make_due(record.namespace, ago_s=60)
    assert await loader.schedule() == 7
    [fast] = await loader.fetches("fast")
    assert (await fetching.wait(fast.name)).outcome == LOADED
    assert site.paths().count("/slow.xml") == 1
    site.released.set()
    await fetching.stop()
    await patient.close()
    await permits.close()


async def test_the_oldest_is_fetched_first(
    fetching: Fetching, loader: Loader, site: Site, source: MakeSource, page: type[Page]
) -> None:
    names = ["c", "a", "d", "b"]
    for name in names:
        site.pages[f"/{name}.xml"] = page(FEED)
    await loader.put(*(source(namespace=name, url=site.url(f"/{name}.xml")) for name in names))
    for ago_s, name in enumerate(names):
        await loader.make_due(name, ago_s=1000 - ago_s)
    assert await loader.schedule() == 4
    fetching.concurrency = 1
    fetching.start()
    await fetching.settled()
    assert site.paths() == [f"/{name}.xml" for name in names]


async def test_credentials_are_sent_to_the_site_and_shown_nowhere(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    credentials = FeedCredentials(headers={"X-Key": "sesame"})
    credentials.basic_auth.username, credentials.basic_auth.password = "shop", "open"
    encrypted = fetching.cipher.encrypt(credentials.SerializeToString(), "shop/default")
    fetching.start()
    await loader.put(feed(sealed_credentials=encrypted))
    fetch = await fetching.scheduled()
    assert fetch.outcome == LOADED
    [(_, headers)] = site.requests
    assert (headers["authorization"], headers["x-key"]) == ("basic c2hvcdpvcgvu", "sesame")
    assert "sesame" not in str(fetch)


@pytest.mark.parametrize("wrong", ["context", "key", "none"])
async def test_credentials_that_cannot_be_read_end_the_fetch(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page], wrong: str
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    cipher = CredentialCipher([b"k" * 32]) if wrong == "key" else fetching.cipher
    encrypted = cipher.encrypt(
        FeedCredentials().SerializeToString(), "other/default" if wrong == "context" else "shop/default"
    )
    if wrong == "none":
        fetching.dependencies = replace(fetching.dependencies, cipher=None)
    fetching.start()
    await loader.put(feed(sealed_credentials=encrypted))
    fetch = await fetching.scheduled()
    assert (fetch.outcome, fetch.code, site.requests) == (FAILED, "CREDENTIALS_UNREADABLE", [])


async def test_where_a_file_came_from_is_told_without_its_query(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(status=302, headers={"Location": "/moved.xml?key=secret"})
    site.pages["/moved.xml"] = page(FEED)
    fetching.start()
    await loader.put(feed(path="/feed.xml?key=own"))
    fetch = await fetching.scheduled()
    assert (fetch.outcome, fetch.final_url) == (LOADED, site.url("/moved.xml"))


@pytest.mark.parametrize("status", [PAUSED, REMOVED])
async def test_what_waits_is_dropped_when_the_feed_stops(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page], status: FeedStatus
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    await loader.put(feed())
    assert await loader.schedule() == 1
    requested = await loader.run(feed())
    await loader.put(feed(feed_version=2, status=status))
    fetching.start()
    await fetching.settled()
    assert {fetch.outcome for fetch in await loader.fetches()} == {DROPPED}
    assert (await fetching.wait(requested.name)).message
    assert (site.requests, await loader.has_slot()) == ([], False)


async def test_a_paused_feed_is_fetched_when_somebody_asks(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    fetching.start()
    requested = await loader.run(feed(status=PAUSED))
    assert (await fetching.wait(requested.name)).outcome == LOADED
    assert (await loader.state()).HasField("next_fetch_time") is False
    site.pages["/feed.xml"] = page(status=404)
    requested = await loader.run(feed(status=PAUSED))
    assert (await fetching.wait(requested.name)).outcome == FAILED
    assert ((await loader.state()).failures, await loader.has_slot()) == (1, False)


@pytest.mark.parametrize("status", [200, 404])
async def test_a_change_during_the_download_drops_it_and_fetches_anew(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page], status: int
) -> None:
    site.pages["/feed.xml"] = page(FEED, status=status, held=True)
    site.pages["/new.xml"] = page(FEED + b"new")
    fetching.start()
    await loader.put(feed())
    assert await loader.schedule() == 1
    await site.requested.wait()
    await loader.put(feed(path="/new.xml", feed_version=2))
    assert await loader.schedule() == 0  # one fetch of a source at a time
    site.released.set()
    [old] = await loader.fetches()
    outcome = (await fetching.wait(old.name)).outcome
    assert (outcome, tasks.count()) == (DROPPED if status == 200 else FAILED, 0)
    assert ((await loader.state()).failures, await loader.due_in_s() <= 0) == (0, True)
    assert await loader.schedule() == 1
    await fetching.settled()
    [newest, _] = await loader.fetches()
    assert (newest.outcome, newest.feed_version, tasks.count()) == (LOADED, 2, 1)


async def test_while_the_processor_is_away_nothing_is_fetched_twice(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    tasks.down = True
    fetching.start()
    await loader.put(feed())
    assert await loader.schedule() == 1
    async with asyncio.timeout(120):
        while not await loader.sql("SELECT 1 FROM dl_jobs WHERE waits_for = 'time'"):
            await asyncio.sleep(0.02)
    [fetch] = await loader.fetches()
    assert fetch.outcome == feed_pb2.FETCH_OUTCOME_RUNNING
    tasks.down = False
    assert (await fetching.wait(fetch.name)).outcome == LOADED
    assert (len(site.requests), tasks.count()) == (1, 1)


async def test_a_task_whose_answer_was_lost_is_the_fetchs_own(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    tasks.drops_responses = 1
    fetching.start()
    await loader.put(feed())
    fetch = await fetching.scheduled()
    assert (fetch.outcome, len(site.requests), tasks.count(), len(tasks.requests)) == (LOADED, 1, 1, 2)


@pytest.mark.parametrize("during", ["download", "hand-over"])
async def test_one_whose_claim_is_gone_writes_nothing(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page], during: str
) -> None:
    site.pages["/feed.xml"] = page(FEED, held=during == "download")
    tasks.held = asyncio.Event()
    fetching.start()
    await loader.put(feed())
    assert await loader.schedule() == 1
    async with asyncio.timeout(120):
        while not (site.requests if during == "download" else tasks.requests):
            await asyncio.sleep(0.01)
    # Another process has claimed the job; the worker learns this only with its next heartbeat.
    await loader.sql(
        "INSERT INTO dl_workers (worker_id, queues, renewed_at)"
        " VALUES ('another', '{}', clock_timestamp() + interval '1 day')"
    )
    await loader.sql("UPDATE dl_jobs SET claim_no = claim_no + 1, claimed_by = 'another'")
    before = await loader.fetches(), await loader.state()
    site.released.set()
    tasks.held.set()
    async with asyncio.timeout(120):
        while RUNNING.labels(QUEUE)._value.get():
            await asyncio.sleep(0.01)
    assert (await loader.fetches(), await loader.state()) == before
    assert len(await loader.sql("SELECT 1 FROM blob_refs")) == (0 if during == "download" else 1)


async def test_a_refused_task_ends_the_fetch_in_words(
    fetching: Fetching, loader: Loader, site: Site, tasks: Tasks, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    tasks.refuses = True
    fetching.start()
    await loader.put(feed())
    fetch = await fetching.scheduled()
    assert (fetch.outcome, fetch.code, fetch.http_status) == (FAILED, "TASK_REFUSED", 200)
    assert "The format is not known here." in fetch.message
    tasks.refuses = False
    # The file was never loaded, so the request is unconditional.
    assert (await fetching.scheduled()).outcome == LOADED
    assert "if-none-match" not in site.requests[1][1]


async def test_nothing_is_asked_of_the_site_while_files_cannot_be_kept(
    fetching: Fetching,
    loader: Loader,
    site: Site,
    tasks: Tasks,
    feed: MakeSource,
    page: type[Page],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.pages["/feed.xml"] = page(FEED)
    checks = 0
    check = fetching.dependencies.blobs.check

    async def away_at_first() -> None:
        nonlocal checks
        checks += 1
        if checks == 1:
            raise ConnectionError("the object store is away")
        await check()

    monkeypatch.setattr(fetching.dependencies.blobs, "check", away_at_first)
    fetching.start()
    await loader.put(feed())
    assert (await fetching.scheduled()).outcome == LOADED
    assert (checks, len(site.requests)) == (2, 1)


async def test_history_is_kept_short_without_the_file_that_is_asked_about(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    fetching.dependencies = replace(fetching.dependencies, history_fetches=3)
    fetching.start()
    await loader.put(feed())
    first = await fetching.scheduled()
    site.pages["/feed.xml"] = page(status=404)
    failed = [await fetching.scheduled() for _ in range(5)]
    await fetching.settled()
    kept = [fetch.name for fetch in await loader.fetches()]
    assert kept == [*(fetch.name for fetch in failed[:1:-1]), first.name]
    site.pages["/feed.xml"] = page(FEED, etag='"1"')
    for _ in range(4):
        assert (await fetching.scheduled()).outcome == NOT_MODIFIED
    await fetching.settled()
    kept = [f"fetch:{fetch.fetch_id}" for fetch in await loader.fetches()]
    assert (len(kept), f"fetch:{first.fetch_id}" in kept) == (5, True), "it created a task, and is removed after that"
    assert [ref for (ref,) in await loader.sql("SELECT ref FROM blob_refs ORDER BY ref DESC")] == sorted(kept)[::-1]


async def test_operators_see_what_waits_and_what_is_held(
    fetching: Fetching, loader: Loader, site: Site, feed: MakeSource, page: type[Page]
) -> None:
    site.pages["/feed.xml"] = page(FEED, held=True)
    await loader.put(feed())
    await loader.schedule()
    [fetch] = await loader.fetches()
    assert await loader.sql("SELECT seller_id, namespace, task_id FROM task_queue") == [
        ("shop", "default", fetch.fetch_id)
    ]
    assert await loader.sql("SELECT * FROM feed_locks") == []
    fetching.start()
    await site.requested.wait()
    locks = await loader.sql("SELECT context, seller_id, namespace, acquired < clock_timestamp() FROM feed_locks")
    assert locks == [("feedloader", "shop", "default", True)]
    site.released.set()
    await fetching.settled()
    assert await loader.sql("SELECT * FROM feed_locks") == []


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
    fetching: Fetching,
    loader: Loader,
    site: Site,
    tasks: Tasks,
    feed: MakeSource,
    page: type[Page],
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    name: str,
    after: bool,
) -> None:
    from classifeed_loader.store import fetching as statements

    site.pages["/feed.xml"] = page(FEED)
    owner = statements if part == "fetching" else getattr(fetching.dependencies, part)
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
    fetching.start()
    await loader.put(feed())
    fetch = await fetching.scheduled()
    assert (fetch.outcome, tasks.count(), faults) == (LOADED, 1, 1)
    is_stored = (part, name) in (("tasks", "create_task"), ("fetching", "end"), ("fetching", "note_success"))
    assert len(site.requests) == (
        1 if is_stored or name in ("check", "begin") or (name, after) == ("fetch", False) else 2
    )
    assert len(await loader.sql("SELECT 1 FROM feed_fetches")) == 1
    await fetching.settled()
    assert ((await loader.state()).failures, len(await loader.sql("SELECT 1 FROM blob_refs"))) == (0, 1)

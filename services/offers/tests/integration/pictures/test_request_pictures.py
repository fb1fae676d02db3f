"""Offers from before pictures: the job requests theirs slice by slice, and sellers take turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed.offers.v1.offer_pb2 import OFFER_PICTURE_STATE_AWAITED, OFFER_PICTURE_STATE_STORED
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureRequests, PictureResults
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_jobs import TERMINAL, JobStore, Registry, Worker
from classifeed_offers.app.pictures.keep_pictures import keep_pictures
from classifeed_offers.app.pictures.request_next_offers import request_next_offers
from classifeed_offers.domain.offers import Namespace, hash_of
from classifeed_offers.domain.pictures import read_pictures
from classifeed_offers.jobs.request_pictures import QUEUE, TASK, PictureCatchUp, RequestPicturesArgs, enqueue_again
from classifeed_offers.store import applying

SELLER = Namespace("seller", "default")


@pytest.fixture
def load(owner: Any, records: Any, new_load: Any) -> Any:
    """Load offers of a seller, each with a picture unless its id begins with `plain`."""

    async def take(*external_ids: str, seller: str = "seller", task: int = 1) -> None:
        made = []
        for external_id in external_ids:
            record = records.good(external_id)
            if not external_id.startswith("plain"):
                record.content.picture_urls.append(f"https://shop.example/{external_id}.jpg")
            record.content_hash = hash_of(record.content)
            made.append(record)
        await owner.take(new_load(made, task=task, seller=seller).messages)
        await owner.sweep()

    return take


async def requested(database: Database) -> list[tuple[str, str]]:
    """Return the outbox in its order, as (seller, link)."""
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT value FROM outbox ORDER BY id")).fetchall()
    messages = [PictureRequests.FromString(value) for (value,) in rows]
    return [(it.recipient, request.url.rpartition("/")[2]) for it in messages for request in it.requests]


async def play(
    database: Database, *, rate: float = 1e6, until: str = "status = ANY (%s)", again: dict[str, str] | None = None
) -> None:
    """Run the job that starts the others until a condition holds for all jobs; by default, until all have ended.

    `again` requests all pictures again, and gives the scope.
    """
    registry = Registry()
    outbox = Outbox()
    PictureCatchUp(outbox, rate=rate, slice_offers=2).register(registry)
    store = JobStore(tasks=registry)
    async with database.transaction() as tx:
        if again is None:
            await store.enqueue(tx, QUEUE, TASK, RequestPicturesArgs(), lock_key=TASK)
        else:
            await enqueue_again(store, tx, **again)
    worker = Worker(database, store, registry, queues={QUEUE: 1}, resources=store)
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    try:
        async with asyncio.timeout(60):
            while await count_jobs(database, f"NOT ({until})"):
                await asyncio.sleep(0.02)
    finally:
        stop.set()
        await running


async def count_jobs(database: Database, condition: str) -> int:
    """Return how many jobs fulfil a condition on their rows; its parameter is the list of terminal statuses."""
    parameters = [sorted(TERMINAL)] if "%s" in condition else []
    async with database.connection() as connection:
        cursor = await connection.execute(f"SELECT count(*) FROM dl_jobs WHERE {condition}", parameters)
        row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_each_offer_from_before_is_requested_once(owner: Any, load: Any) -> None:
    await load("a", "plain", "b", "c", "d")
    await owner.take([])
    owner.requests_pictures = True
    await load("a", "plain", "b", "c", "d", "new", task=2)
    assert await requested(owner.database) == [], "the replies of loads are not in the outbox here"
    await play(owner.database)
    assert [link for _, link in await requested(owner.database)] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    async with owner.database.connection() as connection:
        rows = await (await connection.execute("SELECT pictures FROM offers WHERE external_id = 'a'")).fetchall()
    [[records]] = rows
    [picture] = read_pictures(records)
    assert (picture.state, picture.task_id) == (OFFER_PICTURE_STATE_AWAITED, 1)
    await play(owner.database)
    assert len(await requested(owner.database)) == 4


async def test_removed_offers_request_nothing(owner: Any, load: Any) -> None:
    await load("a", "b")
    await load("a", task=2)
    await play(owner.database)
    assert [link for _, link in await requested(owner.database)] == ["a.jpg"]


async def test_a_seller_with_many_offers_lets_the_others_pass(owner: Any, load: Any) -> None:
    await load(*(f"m{number:02}" for number in range(20)), seller="big")
    await load("a", "b", seller="small")
    await play(owner.database)
    sellers = [seller for seller, _ in await requested(owner.database)]
    assert (sellers.count("big"), sellers.count("small")) == (20, 2)
    assert sellers.index("small") < 10, "not behind all of the big one"


async def test_a_slice_that_is_done_again_requests_nothing_twice(owner: Any, load: Any) -> None:
    await load("a", "b", "c")
    counts = []
    for _ in range(2):
        async with owner.database.transaction() as tx:
            await applying.lock_heads(tx, {SELLER}, create=False)
            done = await request_next_offers(tx, SELLER, after="", limit=2, again=False, outbox=Outbox())
            counts.append((done.last, done.offers))
    assert counts == [("b", 2), ("b", 0)]


async def test_the_rate_of_a_seller_is_kept(owner: Any, load: Any) -> None:
    """Two offers per slice at one in 50 s: the next slice is due in 100 s."""
    await load("a", "b", "c", "d")
    await play(owner.database, rate=0.02, until="status = ANY (%s) OR coalesce(waits_for, '') = 'time'")
    assert [link for _, link in await requested(owner.database)] == ["a.jpg", "b.jpg"]
    later = "available_at BETWEEN clock_timestamp() + interval '30 s' AND clock_timestamp() + interval '100 s'"
    assert await count_jobs(owner.database, f"waits_for = 'time' AND {later}") == 1


async def states(database: Database) -> dict[str, list[Any]]:
    """Return the states of pictures by the ids of their offers."""
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT external_id, pictures FROM offers")).fetchall()
    return {external_id: [it.state for it in read_pictures(records)] for external_id, records in rows}


async def test_all_are_requested_again_whatever_is_known_of_them(owner: Any, load: Any) -> None:
    """Except pictures that an operator deleted: they come back under a new link only."""
    owner.requests_pictures = True
    await load("a", "b", "c", "deleted", "plain", "removed")
    await load("a", "b", "c", "deleted", "plain", task=2)
    info = PictureInfo(namespace="offers", group_id=1, name="n")
    failure, deletion = LoadFailure(code="PICTURE_NOT_FOUND"), LoadFailure(code="PICTURE_DELETED")
    async with owner.database.transaction() as tx:
        results = PictureResults(recipient="seller")
        for name, result in (
            ("a", {"info": info}),
            ("b", {"failure": failure}),
            ("deleted", {"failure": deletion}),
        ):
            url = f"https://shop.example/{name}.jpg"
            results.results.add(url=url, namespace="offers", reference=f"default/{name}", attempt=7, **result)
        await keep_pictures(tx, [results])
    before = await states(owner.database)
    assert before["a"] == [OFFER_PICTURE_STATE_STORED]
    await play(owner.database, again={})
    assert sorted(await requested(owner.database)) == [("seller", f"{name}.jpg") for name in "abc"]
    assert await states(owner.database) == before, "a picture is shown until it is known to be gone"


async def test_pictures_of_one_seller_or_namespace_are_requested_again(owner: Any, load: Any) -> None:
    owner.requests_pictures = True
    await load("a", "b", seller="one")
    await load("c", seller="other")
    await play(owner.database, again={"seller_id": "one"})
    assert await requested(owner.database) == [("one", "a.jpg"), ("one", "b.jpg")]
    await play(owner.database, again={"seller_id": "other", "namespace": "default"})
    assert (await requested(owner.database))[2:] == [("other", "c.jpg")]


async def test_a_request_for_all_counts_once_by_its_id(database: Database) -> None:
    store = JobStore(tasks=Registry())
    ids = []
    for request_id in ("first", "first", "second", "", ""):
        async with database.transaction() as tx:
            ids.append(await enqueue_again(store, tx, request_id=request_id))
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4

"""Each upload and removal gets one task; tasks of a namespace are created in the order of acknowledgement."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, task_pb2
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.create_feed import CreateFeed
from classifeed_api.app.feeds.delete_feed import DeleteFeed
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.app.peers.create_tasks import CreateTasks
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.domain.feed_settings import Limits
from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_api.store import task_line
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.clock import FakeClock
from classifeed_common.db import Database, fetch_named, load_queries
from classifeed_common.errors import FailedPrecondition
from classifeed_common.telemetry.tracing import context_of, entered, trace_ids
from classifeed_devkit.testing.locks import comes_to_wait

NAMESPACES = ("one", "two")
SETTINGS = feed_pb2.FeedSettings(source=feed_pb2.FeedSource(url="https://shop.example/feed.yml"))
CONTENT = b"<yml_catalog/>"


class Processor:
    """Fake processor: knows each task by its purpose; `fails` makes calls fail, before or after their effect."""

    def __init__(self, fails: Callable[[], bool] = lambda: False) -> None:
        self._fails = fails
        self.lines: dict[str, list[UUID | int]] = {}

    async def load_upload(self, upload: Upload) -> int:
        return self._make(upload.namespace, upload.upload_id)

    async def delete_offers(self, deletion: FeedDeletion) -> int:
        return self._make(deletion.key.namespace, deletion.version)

    async def list_formats(self) -> list[str]:
        return ["yml"]

    async def list_newest(self, _: NamespaceKey) -> list[task_pb2.Task]:
        return []

    def _make(self, namespace: str, made_for: UUID | int) -> int:
        if self._fails():
            raise ConnectionError("away")
        line = self.lines.setdefault(namespace, [])
        if made_for not in line:
            line.append(made_for)
        if self._fails():
            raise ConnectionError("cut off")
        return line.index(made_for) + 1


@dataclass
class Acknowledged:
    """A call that got its response, with its begin and end by a counter that all callers share."""

    made_for: UUID | int
    began: int
    ended: int


class Seller:
    """Uploads, deletes and creates feeds again, and records what was acknowledged."""

    def __init__(self, db: Database, blobs: BlobStore, file: Path, rng: random.Random) -> None:
        self._store = StoreUpload(db, blobs, BlobRefs())
        self._create = CreateFeed(
            db, Limits(600), KeepCredentials(None), CheckFormat(Processor()), on_changed=lambda: None
        )
        self._delete = DeleteFeed(db, Processor(), on_changed=lambda: None, on_deleted=lambda: None)
        self._file = file
        self._rng = rng
        self._clock = itertools.count()
        self.acknowledged: dict[str, list[Acknowledged]] = {namespace: [] for namespace in NAMESPACES}
        self._deleted: set[object] = set()

    async def act(self, namespace: str) -> None:
        key = NamespaceKey("shop", namespace)
        began = next(self._clock)
        if self._rng.random() < 0.5:
            made_for: UUID | int | None = await self._upload(key)
        else:
            made_for = await self._remove(key)
        if made_for is not None:
            self.acknowledged[namespace].append(Acknowledged(made_for, began, next(self._clock)))

    async def _upload(self, key: NamespaceKey) -> UUID | None:
        sha256 = hashlib.sha256(CONTENT).hexdigest()
        upload = NewUpload(*key, 1, 1, "f", None, sha256, len(CONTENT), force=self._rng.random() < 0.5)
        try:
            return (await self._store(upload, self._file)).upload_id
        except FailedPrecondition:
            return None

    async def _remove(self, key: NamespaceKey) -> int:
        """Create the feed, if there is none, and delete it."""
        await self._create(key, SETTINGS, request_id=None, timeout_s=None)
        removed = await self._delete(key, 1, timeout_s=None)
        return removed.version


async def take(db: Database, push: CreateTasks, rng: random.Random) -> bool:
    """Run one round of a pusher that leaves some rows and sometimes dies before it moves the mark."""
    async with db.transaction() as tx:
        rows = await fetch_named(tx, task_line.SELECT_DUE, {"limit": 50})
    chosen = [row for row in rows if rng.random() < 0.8]
    done = [row for row, made in zip(chosen, await push(chosen), strict=True) if made]
    if done and rng.random() < 0.8:
        values: dict[str, Any] = {f"{column}s": [getattr(row, column) for row in done] for column in done[0]._fields}
        async with db.transaction() as tx:
            await tx.execute(task_line.ADVANCE_PUBLISHED, values)
    return bool(rows)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "feed.yml"
    path.write_bytes(CONTENT)
    return path


@pytest.mark.parametrize("seed", range(6))
async def test_order_of_tasks_is_the_order_of_answers_whatever_fails(
    db: Database, blobs: BlobStore, file: Path, seed: int
) -> None:
    rng = random.Random(seed)
    processor = Processor(lambda: rng.random() < 0.3)
    seller, push, over = Seller(db, blobs, file, rng), CreateTasks(db, processor), asyncio.Event()

    async def sell(namespace: str) -> None:
        for _ in range(15):
            await seller.act(namespace)

    async def work() -> None:
        while True:
            was_over = over.is_set()  # read before `take`, which may run just before the last response
            if not await take(db, push, rng) and was_over:
                return
            await asyncio.sleep(0)

    working = [asyncio.create_task(work()) for _ in range(2)]
    # One task creates and deletes the feed of a namespace while another one uploads.
    await asyncio.gather(*(sell(namespace) for namespace in NAMESPACES))
    over.set()
    await asyncio.gather(*working)
    for namespace, acknowledged in seller.acknowledged.items():
        line = processor.lines.get(namespace, [])
        assert sorted(map(str, line)) == sorted(str(each.made_for) for each in acknowledged), "each once, and no other"
        places = {each.made_for: line.index(each.made_for) for each in acknowledged}
        for before, after in itertools.permutations(acknowledged, 2):
            if before.ended < after.began:
                assert places[before.made_for] < places[after.made_for], (before, after)


async def test_concurrent_uploads_and_removals_wait_in_the_order_of_their_answers(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    rng = random.Random(7)
    seller, processor = Seller(db, blobs, file, rng), Processor()

    async def upload() -> None:
        for _ in range(8):
            began = next(seller._clock)
            made_for = await seller._upload(NamespaceKey("shop", "one"))
            if made_for is not None:
                seller.acknowledged["one"].append(Acknowledged(made_for, began, next(seller._clock)))

    async def remove() -> None:
        for _ in range(8):
            began = next(seller._clock)
            made_for = await seller._remove(NamespaceKey("shop", "one"))
            seller.acknowledged["one"].append(Acknowledged(made_for, began, next(seller._clock)))

    await asyncio.gather(upload(), upload(), remove())
    while await take(db, CreateTasks(db, processor), rng):
        pass
    line = processor.lines["one"]
    acknowledged = seller.acknowledged["one"]
    assert sorted(map(str, line)) == sorted(str(each.made_for) for each in acknowledged)
    for before, after in itertools.permutations(acknowledged, 2):
        if before.ended < after.began:
            assert line.index(before.made_for) < line.index(after.made_for), (before, after)


async def test_upload_waits_for_a_removal_under_way_and_stands_behind_it(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    seller, key = Seller(db, blobs, file, random.Random(1)), NamespaceKey("shop", "one")
    async with db.transaction() as tx:
        await task_line.lock(tx, key)
        place = await task_line.next_place(tx, key)
        uploading = asyncio.create_task(seller._upload(key))
        assert await comes_to_wait(uploading, db, behind=tx), "it was stored next to the removal"
        await task_line.insert_deletion(tx, FeedDeletion(key, place, 1))
    upload_id = await uploading
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT version FROM uploads WHERE upload_id = %s", (upload_id,))
        [(version,)] = await cursor.fetchall()
    assert version > place


async def test_a_clock_that_stepped_back_puts_nobody_before_those_who_wait(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    key = NamespaceKey("shop", "one")
    tomorrow = 4_000_000_000_000_000
    async with db.transaction() as tx:
        await task_line.insert_deletion(tx, FeedDeletion(key, tomorrow, 1))
        assert await task_line.next_place(tx, key) == tomorrow + 1
        assert await task_line.next_place(tx, key, above=tomorrow + 5) == tomorrow + 6
        assert await task_line.next_place(tx, NamespaceKey("shop", "two")) < tomorrow
    assert await Seller(db, blobs, file, random.Random(1))._remove(key) > tomorrow


async def test_a_task_belongs_to_the_trace_in_which_it_was_acknowledged(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    """An upload and a removal with different traces are pushed in one batch."""
    traces = {"u": "1" * 32, "r": "2" * 32}
    seller = Seller(db, blobs, file, random.Random(0))
    for namespace, act in (("u", seller._upload), ("r", seller._remove)):
        with entered(context_of({"traceparent": f"00-{traces[namespace]}-b7ad6b7169203331-01"})):
            await act(NamespaceKey("shop", namespace))
    made_in: dict[str, str] = {}

    class Noting(Processor):
        async def load_upload(self, upload: Upload) -> int:
            made_in[upload.namespace] = (trace_ids() or ("", ""))[0]
            return 1

        async def delete_offers(self, deletion: FeedDeletion) -> int:
            made_in[deletion.key.namespace] = (trace_ids() or ("", ""))[0]
            return 1

    async with db.transaction() as tx:
        rows = await fetch_named(tx, task_line.SELECT_DUE, {"limit": 50})
    assert await CreateTasks(db, Noting())(rows) == [True, True]
    assert made_in == traces


async def test_tasks_that_the_processor_refuses_are_named_until_one_is_made(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    await Seller(db, blobs, file, random.Random(1))._remove(NamespaceKey("shop", "one"))
    async with db.transaction() as tx:
        rows = await fetch_named(tx, task_line.SELECT_DUE, {"limit": 50})
    clock, is_away = FakeClock(), True
    create_tasks = CreateTasks(db, Processor(lambda: is_away), clock=clock)
    assert await create_tasks(rows) == [False]
    assert create_tasks.blocked() == {}
    await clock.advance(5)
    assert "failed for 5 s, once: ConnectionError: away. Uploads and" in create_tasks.blocked()["tasks"]
    is_away = False
    assert await create_tasks(rows) == [True]
    assert create_tasks.blocked() == {}


async def test_mark_of_an_upload_moves_by_version_and_never_falls(db: Database, blobs: BlobStore, file: Path) -> None:
    """A pusher that paused past its lease may write the mark after its successor."""
    upload_id = await Seller(db, blobs, file, random.Random(1))._upload(NamespaceKey("shop", "one"))
    async with db.transaction() as tx:
        await tx.execute("UPDATE uploads SET version = 7, published_version = 5")
        for pushed, mark in ((3, 5), (6, 6), (7, 7), (6, 7)):
            values = {"upload_ids": [upload_id], "seller_ids": ["shop"], "namespaces": ["one"], "versions": [pushed]}
            await tx.execute(task_line.ADVANCE_PUBLISHED, values)
            cursor = await tx.execute("SELECT published_version FROM uploads")
            assert await cursor.fetchone() == (mark,)


async def test_feed_made_anew_before_the_push_still_gets_its_one_deletion(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    rng = random.Random(1)
    seller, processor = Seller(db, blobs, file, rng), Processor()
    key = NamespaceKey("shop", "one")
    first = await seller._remove(key)
    second = await seller._remove(key)
    feed = await seller._create(key, SETTINGS, request_id=None, timeout_s=None)
    while await take(db, CreateTasks(db, processor), rng):
        pass
    assert processor.lines == {"one": [first, second]}
    assert first < second < feed.version


async def test_a_later_upload_does_not_overtake_a_removal_that_the_processor_refused(
    start_api: Callable[..., Awaitable[Any]], eventually: Callable[..., Awaitable[None]]
) -> None:
    api = await start_api()
    refused: list[int] = []

    def refuses(request: Any) -> bool:
        if request.kind == task_pb2.TASK_KIND_DELETE and not refused:
            refused.append(request.feed_version)
            return True
        return False

    api.processor.refuses = refuses
    name = "sellers/shop/feeds/default"
    await api.stub.CreateFeed(feed_service_pb2.CreateFeedRequest(parent="sellers/shop", settings=SETTINGS))
    removed = await api.stub.DeleteFeed(feed_service_pb2.DeleteFeedRequest(name=name))
    await eventually(lambda: refused)

    async def parts() -> Any:
        yield feed_service_pb2.UploadFeedRequest(
            spec=feed_service_pb2.UploadSpec(
                seller_id="shop", allow_removals=True, allow_changes=True, default_currency="KZT"
            )
        )
        yield feed_service_pb2.UploadFeedRequest(chunk=CONTENT)

    upload = await api.stub.UploadFeed(parts())
    await eventually(lambda: len(api.processor.tasks.get(("shop", "default"), [])) == 2)
    assert api.processor.tasks["shop", "default"] == [("DELETE", removed.version), (upload.upload_id, 0)]
    assert refused == [removed.version]
    [load] = [request for request in api.processor.requests if request.upload_id]
    assert (load.allow_removals, load.allow_changes) == (True, True)
    [deletion] = [request for request in api.processor.requests if request.kind == task_pb2.TASK_KIND_DELETE]
    assert (deletion.disposition, deletion.source_sha256, deletion.upload_id) == (1, "", "")
    [load] = [request for request in api.processor.requests if request.upload_id]
    assert (load.default_currency, deletion.default_currency) == ("KZT", "")


async def test_due_rows_are_found_by_their_indexes(db: Database) -> None:
    async with await psycopg.AsyncConnection.connect(db.dsn, options="-c search_path=api") as connection:
        await connection.execute(
            "INSERT INTO uploads SELECT gen_random_uuid(), 's', 'n' || i % 50, NULL, 1, 1, 'f', repeat('a', 64), 1, "
            "NULL, true, i, CASE WHEN i % 1000 = 0 THEN 0 ELSE i END, clock_timestamp() "
            "FROM generate_series(1, 20000) i"
        )
        await connection.execute(
            "INSERT INTO feed_deletions SELECT 's', 'n' || i % 50, i, CASE WHEN i % 1000 = 0 THEN 0 ELSE i END, 1, "
            "clock_timestamp() FROM generate_series(1, 20000) i"
        )
        await connection.execute("ANALYZE uploads, feed_deletions")
        plans = {}
        for query in ("select_due", "next_place"):
            parameters = {"limit": 50, "seller_id": "s", "namespace": "n7", "above": 0}
            cursor = await connection.execute(
                "EXPLAIN " + load_queries("classifeed_api.store", "task_line.sql")[query], parameters
            )
            plans[query] = "\n".join(row[0] for row in await cursor.fetchall())
    for plan in plans.values():
        assert "uploads_due_in_line" in plan
        assert "feed_deletions_due" in plan
        assert "Seq Scan" not in plan

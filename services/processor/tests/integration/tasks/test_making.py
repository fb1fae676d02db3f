"""Requests that create a task, return an existing one, or are rejected, on the real tables."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.db import Database
from classifeed_common.errors import AlreadyExists
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.parser_version import PARSER_VERSION
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks import create_task as making
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading, tasks

PATCH = load_pb2.LOAD_MODE_PATCH
MAKE_MANUAL = load_pb2.DISPOSITION_MAKE_MANUAL
DELETE = task_pb2.TASK_KIND_DELETE
IN_PROGRESS, HELD = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD
SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
SUPERSEDED, CANCELED = task_pb2.TASK_STATUS_SUPERSEDED, task_pb2.TASK_STATUS_CANCELED


class Maker:
    """Creates tasks, and numbers them in each namespace from 1, in the order in which they are first seen."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.jobs = JobStore()
        self.ids: defaultdict[str, list[int]] = defaultdict(list)

    async def make(self, **fields: Any) -> int:
        fields = {"seller_id": "shop", "namespace": "default"} | fields
        key = await create_task(self.db, self.jobs, CreateTaskRequest(**fields), timeout_s=60)
        ids = self.ids[key.namespace]
        if key.task_id not in ids:
            ids.append(key.task_id)
        return ids.index(key.task_id) + 1

    def key(self, number: int) -> TaskKey:
        return TaskKey("shop", "default", self.ids["default"][number - 1])

    async def upload(self, upload_id: str, **fields: Any) -> int:
        return await self.make(**{"upload_id": upload_id, "source_sha256": "a" * 64} | fields)

    async def fetch(self, result: int, **fields: Any) -> int:
        fields = {"source_sha256": "a" * 64, "feed_version": 1, "feed_loader_task_id": 7} | fields
        return await self.make(feed_loader_result_id=result, **fields)

    async def again(self, result: int, **fields: Any) -> int:
        return await self.fetch(result, **{"skip_if_loaded": True} | fields)

    async def remove(self, version: int, **fields: Any) -> int:
        return await self.make(kind=DELETE, feed_version=version, **fields)

    async def end(self, number: int, status: task_pb2.TaskStatus, code: str = "") -> None:
        key = self.key(number)
        async with self.db.transaction() as tx:
            if status == HELD:
                await tasks.hold_task(tx, key, load_pb2.LoadHold())
            else:
                await tasks.end_task(tx, key, status, FeedFault(code, "x") if code else None)


@pytest.fixture
async def maker(migrated_database: MigratedDatabase) -> Maker:
    return Maker(await migrated_database("classifeed_processor", "processor"))


async def test_the_same_thing_again_is_the_same_task_and_has_one_job(maker: Maker) -> None:
    made = await asyncio.gather(
        *(maker.upload(f"u{n % 3}") for n in range(9)),
        *(maker.fetch(n % 3 + 1) for n in range(9)),
        *(maker.remove(n % 3 + 1) for n in range(9)),
    )
    assert sorted(set(made)) == list(range(1, 10))
    assert made[:9] == made[:3] * 3
    assert made[9:18] == made[9:12] * 3
    async with maker.db.transaction() as tx:
        assert await maker.jobs.backlog(tx, ["feed.process"]) == {"feed.process": 9}
        fetched = await reading.find_task(tx, maker.key(made[9]))
        removal = await reading.find_task(tx, maker.key(made[18]))
    assert fetched is not None
    assert removal is not None
    assert (fetched.fetch, fetched.feed_version, fetched.upload_id) == ("sellers/shop/feeds/default/fetches/1", 1, "")
    assert (removal.kind, removal.fetch, removal.upload_id, removal.source_sha256) == (DELETE, "", "", "")
    assert (removal.feed_version, removal.mode) == (1, load_pb2.LOAD_MODE_REPLACE)


LAST_AND_ONE = "UPDATE task_counters SET last_task_id = last_task_id + 1 RETURNING last_task_id"
ONE_MORE_RUN = "UPDATE tasks SET run = run + 1, phase = %(parsing)s WHERE task_id = %(task_id)s RETURNING run"


@pytest.mark.parametrize("way", ["floored by the clock", "one more than the last"])
async def test_no_id_and_no_run_is_given_twice_across_a_restore(
    maker: Maker, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The service offers has seen tasks and runs that the restored database does not have."""
    if way == "one more than the last":
        monkeypatch.setattr(tasks, "_DRAW_TASK_ID", LAST_AND_ONE)
        monkeypatch.setattr(tasks, "_BEGIN_RUN", ONE_MORE_RUN)

    async def begin_run(key: TaskKey) -> int:
        async with maker.db.transaction() as tx:
            return await tasks.begin_run(tx, key, b"")

    old = maker.key(await maker.upload("u1"))
    names = ("tasks", "task_counters")
    async with maker.db.transaction() as tx:
        for name in names:
            await tx.execute(f"CREATE TABLE {name}_backup AS SELECT * FROM {name}")
    run = await begin_run(old)
    lost = maker.key(await maker.upload("u2"))
    async with maker.db.transaction() as tx:
        for name in names:
            await tx.execute(f"TRUNCATE {name}")
            await tx.execute(f"INSERT INTO {name} SELECT * FROM {name}_backup")
    await asyncio.sleep(1.1)  # runs are numbered by seconds, and no restore is faster
    assert (await begin_run(old) > run) == (way == "floored by the clock")
    assert (maker.key(await maker.upload("u3")).task_id > lost.task_id) == (way == "floored by the clock")


@pytest.mark.parametrize(
    "other",
    [
        {"source_sha256": "b" * 64},
        {"mode": PATCH},
        {"disposition": MAKE_MANUAL},
        {"format": "yml"},
        {"default_currency": "KZT"},
        {"namespace": "other"},
    ],
)
async def test_an_identity_stands_for_one_file_and_its_settings(maker: Maker, other: dict[str, Any]) -> None:
    await maker.upload("u1")
    await maker.fetch(1)
    with pytest.raises(AlreadyExists):
        await maker.upload("u1", **other)
    with pytest.raises(AlreadyExists):
        await maker.fetch(1, **other)


async def test_the_number_of_a_fetch_counts_within_its_source_and_a_removal_within_its_namespace(maker: Maker) -> None:
    assert await maker.fetch(1) == 1
    assert await maker.fetch(1, feed_loader_task_id=8) == 2
    with pytest.raises(AlreadyExists):
        await maker.fetch(1, feed_version=2)
    assert await maker.remove(1) == 3
    assert await maker.remove(1, namespace="other") == 1
    with pytest.raises(AlreadyExists):
        await maker.remove(1, disposition=MAKE_MANUAL)


@pytest.mark.parametrize(
    ("status", "code", "is_same"),
    [
        (IN_PROGRESS, "", True),
        (HELD, "", True),
        (SUCCEEDED, "", True),
        (FAILED, "MALFORMED_XML", True),
        (FAILED, "FORMAT_DIFFERS", True),
        (FAILED, "SOURCE_MISSING", False),
        (FAILED, "RUNS_EXHAUSTED", False),
        (FAILED, "INTERNAL_FAULT", False),
        (FAILED, "LOAD_CANCELED", False),
        (FAILED, "QUARANTINED", True),
    ],
)
async def test_the_bytes_of_the_newest_load_are_not_loaded_again(
    maker: Maker, status: task_pb2.TaskStatus, code: str, is_same: bool
) -> None:
    first = await maker.fetch(1)
    if status != IN_PROGRESS:
        await maker.end(first, status, code)
    assert await maker.again(2) == (first if is_same else 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"source_sha256": "b" * 64},
        {"feed_version": 2},
        {"mode": PATCH},
        {"disposition": MAKE_MANUAL},
        {"format": "yml"},
        {"default_currency": "KZT"},
        {"skip_if_loaded": False},
    ],
)
async def test_whatever_changed_is_a_reason_to_load(maker: Maker, changed: dict[str, Any]) -> None:
    first = await maker.fetch(1)
    await maker.end(first, SUCCEEDED)
    assert await maker.again(2, **changed) == 2


async def test_a_new_parser_is_a_reason_to_load(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    await maker.end(await maker.fetch(1), SUCCEEDED)
    monkeypatch.setattr(making, "PARSER_VERSION", PARSER_VERSION + 1)
    assert await maker.again(2) == 2
    assert await maker.again(3) == 2


async def test_an_upload_of_the_same_bytes_counts_as_loaded(maker: Maker) -> None:
    await maker.end(await maker.fetch(1), SUCCEEDED)
    await maker.end(await maker.upload("u1", source_sha256="c" * 64), SUCCEEDED)
    # The namespace now has the offers of the upload, so the file of the link must be loaded.
    assert await maker.again(2) == 3
    await maker.end(await maker.upload("u2"), SUCCEEDED)
    assert await maker.again(3, feed_version=5) == 4
    assert await maker.again(4, disposition=MAKE_MANUAL) == 5
    assert await maker.upload("u3") == 6


async def test_the_newest_load_is_the_one_that_took_place(maker: Maker) -> None:
    first = await maker.fetch(1)
    await maker.end(first, SUCCEEDED)
    await maker.end(await maker.fetch(2, source_sha256="b" * 64), SUPERSEDED)
    await maker.end(await maker.fetch(3, source_sha256="b" * 64), CANCELED)
    assert await maker.again(4) == first
    await maker.remove(1)
    assert await maker.again(5) == 5


@pytest.mark.parametrize("sha256", ["a" * 64, "b" * 64], ids=["the file before", "the canceled file"])
async def test_after_a_load_that_was_canceled_under_way_whatever_comes_is_loaded(maker: Maker, sha256: str) -> None:
    """It has changed offers already, so the namespace has neither its file nor the previous one."""
    await maker.end(await maker.fetch(1), SUCCEEDED)
    canceled = await maker.fetch(2, source_sha256="b" * 64)
    async with maker.db.transaction() as tx:
        await tasks.begin_run(tx, maker.key(canceled), b"")
    await maker.end(canceled, CANCELED, "LOAD_CANCELED")
    assert await maker.again(3, source_sha256=sha256) == 3


async def test_a_load_that_came_late_and_will_not_run_is_no_load(maker: Maker) -> None:
    newer = await maker.fetch(5, source_sha256="b" * 64)
    late = await maker.fetch(4)
    assert (newer, late) == (1, 2)
    assert await maker.again(6) == 3


async def test_what_waits_for_a_decision_is_not_overtaken_by_its_own_bytes(maker: Maker) -> None:
    held = await maker.upload("u1")
    await maker.end(held, HELD)
    assert await maker.fetch(1) == held
    assert await maker.fetch(2, disposition=MAKE_MANUAL, feed_version=3) == held
    assert await maker.upload("u2") == 2
    assert await maker.fetch(3) == 3

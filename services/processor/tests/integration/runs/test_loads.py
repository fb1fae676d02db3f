"""Loads from the file to the last reply, on real PostgreSQL, Kafka and S3, with a fake of the service offers."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from classifeed.feeds.v1 import load_pb2, offer_results_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.blobs import BlobStore
from classifeed_common.errors import AlreadyExists, Unavailable
from classifeed_common.kafka import Message
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading

from ..conftest import Scene

pytestmark = pytest.mark.kafka
SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED
FAILED = task_pb2.TASK_STATUS_FAILED


async def errors_of(scene: Scene, task: Task) -> list[load_pb2.OfferError]:
    async with scene.database.transaction() as tx:
        key = TaskKey.parse(task.name)
        parameters = {
            "from_level": 0, "from_ordinal": 0, "from_line": 0, "from_error_id": "", "level": 0, "kind": 0, "code": "",
            "field": "", "external_id": "", "limit": 100_000,
        }  # fmt: skip
        return await reading.list_errors(tx, key, task.run, parameters)


async def test_a_load_is_counted_and_its_errors_are_listed(scene: Scene) -> None:
    scene.start()
    content = scene.yml(
        *(scene.offer(f"a{n}", price="x" if n % 100 == 0 else "5") for n in range(1000)),
        *map(scene.offer, ("a1", "", "z")),
    )
    key = await scene.create(await scene.put(content), source_bytes=len(content))
    task = await scene.wait_end(key)
    statistics = task.statistics
    assert (task.status, task.format, task.expected_total) == (SUCCEEDED, "yml", 1003)
    assert scene.owner.runs() == [(key.task_id, 1)]
    assert (statistics.total, statistics.added, statistics.rejected_validation, statistics.duplicates) == (
        1003,
        991,
        11,
        1,
    )
    assert (statistics.errors, statistics.warnings, statistics.bytes) == (12, 0, len(content))
    assert [(issue.code, issue.count) for issue in statistics.issues] == [
        ("PRICE_INVALID", 10),
        ("DUPLICATE_ID", 1),
        ("ID_MISSING", 1),
    ]
    assert {stage.stage for stage in statistics.stages} == {"download", "check", "parse", "send", "answer"}
    errors = await errors_of(scene, task)
    assert Counter(error.code for error in errors) == {"PRICE_INVALID": 10, "DUPLICATE_ID": 1, "ID_MISSING": 1}
    assert {error.external_id for error in errors if error.code != "PRICE_INVALID"} == {"a1", "record:1002"}
    assert all(error.line > 0 and error.column > 0 and error.excerpt for error in errors)
    scene.owner.assert_ends_are_last()


async def test_the_next_load_replaces_and_an_empty_one_is_a_load_too(scene: Scene) -> None:
    scene.start()
    first = await scene.file(*scene.offers(250))
    await scene.wait_end(await scene.create(first, "u1"))
    again = await scene.wait_end(await scene.create(first, "u2"))
    assert (again.statistics.unchanged, again.statistics.total) == (250, 250)
    changed = [scene.offer(f"a{n}", price=str(n % 2 + 5)) for n in range(200)]
    task = await scene.load(*changed, upload_id="u3")
    assert (task.statistics.updated, task.statistics.removed) == (200, 50)
    empty = await scene.load(upload_id="u4")
    assert (empty.status, empty.statistics.total, empty.statistics.removed) == (SUCCEEDED, 0, 200)


async def test_a_removed_feed_leaves_nothing_and_what_was_fetched_before_comes_too_late(scene: Scene) -> None:
    sha256 = await scene.file(*scene.offers(250))
    fetched = {"source_sha256": sha256, "feed_version": 1, "feed_loader_task_id": 5}
    load = await scene.make(**fetched, feed_loader_result_id=1)
    removal = await scene.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=2)
    late = await scene.make(**fetched, feed_loader_result_id=2)
    scene.start()
    # The load was created before the removal, with an older version of the feed than the removed one.
    assert (await scene.wait_end(load)).status == task_pb2.TASK_STATUS_SUPERSEDED
    assert (await scene.wait_end(removal)).status == SUCCEEDED
    assert (await scene.wait_end(late)).status == task_pb2.TASK_STATUS_SUPERSEDED
    again = await scene.make(**(fetched | {"feed_version": 3}), feed_loader_result_id=3)
    assert (await scene.wait_end(again)).statistics.added == 250
    assert len(scene.owner.offers) == 250
    task = await scene.wait_end(await scene.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=4))
    assert (task.status, task.statistics.removed, task.statistics.total) == (SUCCEEDED, 250, 0)
    assert scene.owner.offers == {}
    assert scene.owner.runs() == [(removal.task_id, 1), (again.task_id, 1), (task.task_id, 1)]
    scene.owner.assert_ends_are_last()


async def test_one_upload_is_one_task_and_ids_grow_in_order(scene: Scene) -> None:
    keys = await asyncio.gather(*(scene.create("ab" * 32, f"u{n % 10}") for n in range(30)))
    assert len(set(keys)) == 10
    with pytest.raises(AlreadyExists):
        await scene.create("cd" * 32, "u1")
    async with scene.database.transaction() as tx:
        assert await scene.jobs.backlog(tx, ["feed.process"]) == {"feed.process": 10}


async def test_a_broken_file_fails_in_words_and_sends_nothing(scene: Scene) -> None:
    scene.start()
    content = scene.yml(*scene.offers(500))
    broken = content[: content.rindex(b"</offer>")]
    task = await scene.wait_end(await scene.create(await scene.put(broken)))
    assert (task.status, task.error_code) == (FAILED, "MALFORMED_XML")
    assert task.error_line == broken.count(b"\n") + 1
    assert "cut off" in task.error_message
    stock = b'<yml_catalog><shop><offers><offer id="1"><price>5</price></offer></offers></shop></yml_catalog>'
    sha256 = await scene.put(stock)
    task = await scene.wait_end(await scene.create(sha256, "replace"))
    assert (task.status, task.error_code) == (FAILED, "STOCK_ONLY")
    task = await scene.wait_end(await scene.create("ef" * 32, "gone"))
    assert (task.status, task.error_code) == (FAILED, "SOURCE_MISSING")
    assert scene.owner.log == []
    patch = await scene.create(sha256, "patch", mode=load_pb2.LOAD_MODE_PATCH)
    assert (await scene.wait_end(patch)).status == SUCCEEDED


async def test_missing_batches_are_sent_again_and_at_last_given_up(scene: Scene) -> None:
    scene.owner.loses = {(1, 2), (2, 1)}
    scene.start()
    sha256 = await scene.file(*(scene.offer(f"a{n}", price="x" if n == 7 else "5") for n in range(350)))
    task = await scene.wait_end(await scene.create(sha256, "u1"))
    assert (task.status, len(scene.owner.runs())) == (SUCCEEDED, 3)
    assert (task.statistics.total, task.statistics.errors) == (350, 1)
    assert len(await errors_of(scene, task)) == 1
    scene.owner.loses = {(run, 1) for run in range(1, 9)}
    task = await scene.wait_end(await scene.create(sha256, "u2"))
    assert (task.status, task.error_code) == (FAILED, "RUNS_EXHAUSTED")
    assert "missed batches; last: 1" in task.error_message
    assert len(scene.owner.runs()) == 6
    scene.owner.assert_ends_are_last()


async def test_a_newer_task_at_the_owner_supersedes(scene: Scene) -> None:
    scene.owner._head = (1 << 62, 1)
    scene.start()
    task = await scene.load(*scene.offers(250))
    assert (task.status, task.statistics.total) == (task_pb2.TASK_STATUS_SUPERSEDED, 0)


async def test_a_held_task_frees_its_key_and_a_newer_one_supersedes_it(scene: Scene) -> None:
    scene.owner.end_outcome = offer_results_pb2.TASK_END_OUTCOME_HELD
    scene.start()
    sha256 = await scene.file(*scene.offers(50))
    held = await scene.create(sha256, "u1")
    await scene.wait(held, lambda task: task.status == task_pb2.TASK_STATUS_HELD)
    scene.owner.end_outcome = offer_results_pb2.TASK_END_OUTCOME_COMPLETED
    assert (await scene.wait_end(await scene.create(sha256, "u2"))).status == SUCCEEDED
    assert (await scene.task(held)).status == task_pb2.TASK_STATUS_SUPERSEDED


async def test_the_window_bounds_what_waits_for_answers(scene: Scene) -> None:
    scene.limit(window_batches=5)
    scene.owner.paused.set()
    scene.start()
    key = await scene.upload(*scene.offers(3000))

    async def sent() -> int:
        [[count]] = await scene.sql("SELECT count(*) FROM offer_batches")
        return int(count)

    async with asyncio.timeout(120):
        while await sent() < 5:
            await asyncio.sleep(0.05)
    # No batch has a reply, so no more may be sent; two polls of the waiting run are enough time to see a fault.
    for _ in range(25):
        assert await sent() == 5
        await asyncio.sleep(0.1)
    scene.owner.paused.clear()
    assert (await scene.wait_end(key)).statistics.added == 3000
    scene.owner.assert_ends_are_last()


async def test_tasks_of_a_namespace_run_one_after_the_other(scene: Scene) -> None:
    keys = [await scene.upload(*(scene.offer(f"a{n}", price=str(p)) for n in range(150))) for p in range(1, 6)]
    scene.start()
    for key in keys:
        assert (await scene.wait_end(key)).status == SUCCEEDED
    assert scene.owner.runs() == [(key.task_id, 1) for key in keys]
    ends = [request.task_id for request in scene.owner.log if isinstance(request, TaskEnd)]
    assert ends == [key.task_id for key in keys]


class FlakyBlobs(BlobStore):
    """The real store, which does not respond at first."""

    def __init__(self, blobs: BlobStore, failures: int) -> None:
        self._blobs = blobs
        self.failures = failures

    async def fetch(self, sha256: str, target: Path) -> int:
        if self.failures:
            self.failures -= 1
            raise Unavailable("OBJECT_STORE_UNAVAILABLE", "the object store is away")
        return await self._blobs.fetch(sha256, target)


async def test_a_passing_fault_is_waited_out_and_the_order_of_tasks_stays(scene: Scene) -> None:
    blobs = FlakyBlobs(scene.blobs, 2)
    scene.parts = replace(scene.parts, blobs=blobs)
    first, second = [await scene.upload(scene.offer(f"a{n}")) for n in range(2)]
    scene.start()
    task = await scene.wait_end(second)
    assert (task.status, (await scene.task(first)).status) == (SUCCEEDED, SUCCEEDED)
    assert blobs.failures == 0
    ends = [request.task_id for request in scene.owner.log if isinstance(request, TaskEnd)]
    assert ends == [first.task_id, second.task_id]


async def test_what_is_no_answer_goes_to_the_dead_letters(scene: Scene) -> None:
    stray = Message(scene.owner.results, b"shop", b"\xff", {"type": b"classifeed.feeds.v1.OfferBatchResult"})
    await scene.parts.sender.send([stray, Message(scene.owner.results, b"shop", b"", {"type": b"other"})])
    scene.start()
    assert (await scene.load(scene.offer("a"))).status == SUCCEEDED

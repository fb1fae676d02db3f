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

from ...conftest import WriteOffer, WriteYml
from ..conftest import MakeProcessor, Processor

pytestmark = pytest.mark.kafka
SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED
FAILED = task_pb2.TASK_STATUS_FAILED


async def errors_of(processor: Processor, task: Task) -> list[load_pb2.OfferError]:
    async with processor.database.transaction() as tx:
        key = TaskKey.parse(task.name)
        parameters = {
            "from_level": 0, "from_ordinal": 0, "from_line": 0, "from_error_id": "", "level": 0, "kind": 0, "code": "",
            "field": "", "external_id": "", "limit": 100_000,
        }  # fmt: skip
        return await reading.list_errors(tx, key, task.run, parameters)


async def test_a_load_is_counted_and_its_errors_are_listed(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.start()
    content = yml(
        *(offer(f"a{n}", price="x" if n % 100 == 0 else "5") for n in range(1000)), offer("a1"), offer(""), offer("z")
    )
    key = await processor.create(await processor.put(content, tmp_path), source_bytes=len(content))
    task = await processor.wait_end(key)
    statistics = task.statistics
    assert (task.status, task.format, task.expected_total) == (SUCCEEDED, "yml", 1003)
    assert processor.owner.runs() == [(key.task_id, 1)]
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
    errors = await errors_of(processor, task)
    assert Counter(error.code for error in errors) == {"PRICE_INVALID": 10, "DUPLICATE_ID": 1, "ID_MISSING": 1}
    assert {error.external_id for error in errors if error.code != "PRICE_INVALID"} == {"a1", "record:1002"}
    assert all(error.line > 0 and error.column > 0 and error.excerpt for error in errors)
    processor.owner.assert_ends_are_last()


async def test_the_next_load_replaces_and_an_empty_one_is_a_load_too(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.start()
    first = await processor.put(yml(*(offer(f"a{n}") for n in range(250))), tmp_path)
    await processor.wait_end(await processor.create(first, "u1"))
    again = await processor.wait_end(await processor.create(first, "u2"))
    assert (again.statistics.unchanged, again.statistics.total) == (250, 250)
    second = await processor.put(yml(*(offer(f"a{n}", price=str(n % 2 + 5)) for n in range(200))), tmp_path)
    task = await processor.wait_end(await processor.create(second, "u3"))
    assert (task.statistics.updated, task.statistics.removed) == (200, 50)
    empty = await processor.wait_end(await processor.create(await processor.put(yml(), tmp_path), "u4"))
    assert (empty.status, empty.statistics.total, empty.statistics.removed) == (SUCCEEDED, 0, 200)


async def test_a_removed_feed_leaves_nothing_and_what_was_fetched_before_comes_too_late(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    sha256 = await processor.put(yml(*(offer(f"a{n}") for n in range(250))), tmp_path)
    fetched = {"source_sha256": sha256, "feed_version": 1, "feed_loader_task_id": 5}
    load = await processor.make(**fetched, feed_loader_result_id=1)
    removal = await processor.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=2)
    late = await processor.make(**fetched, feed_loader_result_id=2)
    processor.start()
    # The load was created before the removal, with an older version of the feed than the removed one.
    assert (await processor.wait_end(load)).status == task_pb2.TASK_STATUS_SUPERSEDED
    assert (await processor.wait_end(removal)).status == SUCCEEDED
    assert (await processor.wait_end(late)).status == task_pb2.TASK_STATUS_SUPERSEDED
    again = await processor.make(**(fetched | {"feed_version": 3}), feed_loader_result_id=3)
    assert (await processor.wait_end(again)).statistics.added == 250
    assert len(processor.owner.offers) == 250
    task = await processor.wait_end(await processor.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=4))
    assert (task.status, task.statistics.removed, task.statistics.total) == (SUCCEEDED, 250, 0)
    assert processor.owner.offers == {}
    assert processor.owner.runs() == [(removal.task_id, 1), (again.task_id, 1), (task.task_id, 1)]
    processor.owner.assert_ends_are_last()


async def test_one_upload_is_one_task_and_ids_grow_in_order(make_processor: MakeProcessor) -> None:
    processor = await make_processor()
    keys = await asyncio.gather(*(processor.create("ab" * 32, f"u{n % 10}") for n in range(30)))
    assert len(set(keys)) == 10
    with pytest.raises(AlreadyExists):
        await processor.create("cd" * 32, "u1")
    async with processor.database.transaction() as tx:
        assert await processor.jobs.backlog(tx, ["feed.process"]) == {"feed.process": 10}


async def test_a_broken_file_fails_in_words_and_sends_nothing(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.start()
    content = yml(*(offer(f"a{n}") for n in range(500)))
    broken = content[: content.rindex(b"</offer>")]
    task = await processor.wait_end(await processor.create(await processor.put(broken, tmp_path)))
    assert (task.status, task.error_code) == (FAILED, "MALFORMED_XML")
    assert task.error_line == broken.count(b"\n") + 1
    assert "cut off" in task.error_message
    stock = b'<yml_catalog><shop><offers><offer id="1"><price>5</price></offer></offers></shop></yml_catalog>'
    sha256 = await processor.put(stock, tmp_path)
    task = await processor.wait_end(await processor.create(sha256, "replace"))
    assert (task.status, task.error_code) == (FAILED, "STOCK_ONLY")
    task = await processor.wait_end(await processor.create("ef" * 32, "gone"))
    assert (task.status, task.error_code) == (FAILED, "SOURCE_MISSING")
    assert processor.owner.log == []
    patch = await processor.create(sha256, "patch", mode=load_pb2.LOAD_MODE_PATCH)
    assert (await processor.wait_end(patch)).status == SUCCEEDED


async def test_missing_batches_are_sent_again_and_at_last_given_up(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.owner.loses = {(1, 2), (2, 1)}
    processor.start()
    content = yml(*(offer(f"a{n}", price="x" if n == 7 else "5") for n in range(350)))
    sha256 = await processor.put(content, tmp_path)
    task = await processor.wait_end(await processor.create(sha256, "u1"))
    assert (task.status, len(processor.owner.runs())) == (SUCCEEDED, 3)
    assert (task.statistics.total, task.statistics.errors) == (350, 1)
    assert len(await errors_of(processor, task)) == 1
    processor.owner.loses = {(run, 1) for run in range(1, 9)}
    task = await processor.wait_end(await processor.create(sha256, "u2"))
    assert (task.status, task.error_code) == (FAILED, "RUNS_EXHAUSTED")
    assert "missed batches; last: 1" in task.error_message
    assert len(processor.owner.runs()) == 6
    processor.owner.assert_ends_are_last()


async def test_a_newer_task_at_the_owner_supersedes(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.owner._head = (1 << 62, 1)
    processor.start()
    sha256 = await processor.put(yml(*(offer(f"a{n}") for n in range(250))), tmp_path)
    task = await processor.wait_end(await processor.create(sha256))
    assert (task.status, task.statistics.total) == (task_pb2.TASK_STATUS_SUPERSEDED, 0)


async def test_a_held_task_frees_its_key_and_a_newer_one_supersedes_it(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.owner.end_outcome = offer_results_pb2.TASK_END_OUTCOME_HELD
    processor.start()
    sha256 = await processor.put(yml(*(offer(f"a{n}") for n in range(50))), tmp_path)
    held = await processor.create(sha256, "u1")
    await processor.wait(held, lambda task: task.status == task_pb2.TASK_STATUS_HELD)
    processor.owner.end_outcome = offer_results_pb2.TASK_END_OUTCOME_COMPLETED
    assert (await processor.wait_end(await processor.create(sha256, "u2"))).status == SUCCEEDED
    assert (await processor.task(held)).status == task_pb2.TASK_STATUS_SUPERSEDED


async def test_the_window_bounds_what_waits_for_answers(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor(window_batches=5)
    processor.owner.paused.set()
    processor.start()
    sha256 = await processor.put(yml(*(offer(f"a{n}") for n in range(3000))), tmp_path)
    key = await processor.create(sha256)

    async def sent() -> int:
        async with processor.database.transaction() as tx:
            [[count]] = await (await tx.execute("SELECT count(*) FROM offer_batches")).fetchall()
            return int(count)

    async with asyncio.timeout(120):
        while await sent() < 5:
            await asyncio.sleep(0.05)
    # No batch has a reply, so no more may be sent; two polls of the waiting run are enough time to see a fault.
    for _ in range(25):
        assert await sent() == 5
        await asyncio.sleep(0.1)
    processor.owner.paused.clear()
    assert (await processor.wait_end(key)).statistics.added == 3000
    processor.owner.assert_ends_are_last()


async def test_tasks_of_a_namespace_run_one_after_the_other(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    files = [
        await processor.put(yml(*(offer(f"a{n}", price=str(p)) for n in range(150))), tmp_path) for p in range(1, 6)
    ]
    keys = [await processor.create(sha256) for sha256 in files]
    processor.start()
    for key in keys:
        assert (await processor.wait_end(key)).status == SUCCEEDED
    assert processor.owner.runs() == [(key.task_id, 1) for key in keys]
    ends = [request.task_id for request in processor.owner.log if isinstance(request, TaskEnd)]
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


async def test_a_passing_fault_is_waited_out_and_the_order_of_tasks_stays(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    blobs = FlakyBlobs(processor.blobs, 2)
    processor.parts = replace(processor.parts, blobs=blobs)
    files = [await processor.put(yml(offer(f"a{n}")), tmp_path) for n in range(2)]
    first, second = [await processor.create(sha256) for sha256 in files]
    processor.start()
    task = await processor.wait_end(second)
    assert (task.status, (await processor.task(first)).status) == (SUCCEEDED, SUCCEEDED)
    assert blobs.failures == 0
    ends = [request.task_id for request in processor.owner.log if isinstance(request, TaskEnd)]
    assert ends == [first.task_id, second.task_id]


async def test_what_is_no_answer_goes_to_the_dead_letters(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    stray = Message(processor.owner.results, b"shop", b"\xff", {"type": b"classifeed.feeds.v1.OfferBatchResult"})
    await processor.parts.sender.send([stray, Message(processor.owner.results, b"shop", b"", {"type": b"other"})])
    processor.start()
    sha256 = await processor.put(yml(offer("a")), tmp_path)
    assert (await processor.wait_end(await processor.create(sha256))).status == SUCCEEDED

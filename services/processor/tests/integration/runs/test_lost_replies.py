"""Lost replies and refused batches: the task requests a check, sends missing batches again, and ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TypeVar

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import RunCheckResult, TaskEndResult
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.kafka import message_of
from classifeed_common.telemetry.metrics import DEAD_LETTERS
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_jobs import JobStore
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain import tasks as domain
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading, tasks

from ...conftest import WriteOffer, WriteYml
from ..conftest import MakeProcessor, Processor, Reply, Request

pytestmark = pytest.mark.kafka
SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
RequestT = TypeVar("RequestT", OfferBatch, TaskEnd, RunCheck)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 0.5)


async def begin(processor: Processor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, offers: int = 1000) -> TaskKey:
    content = yml(*(offer(f"a{n}", price="x" if n % 100 == 0 else "5") for n in range(offers)))
    return await processor.create(await processor.put(content, tmp_path))


def check_whole(task: Task, offers: int = 1000) -> None:
    """Check that the statistics are those of the first replies, although some replies were sent twice."""
    statistics = task.statistics
    assert (task.status, statistics.total, statistics.added) == (SUCCEEDED, offers, offers * 99 // 100)
    assert (statistics.rejected_validation, statistics.errors, statistics.unchanged) == (
        offers // 100,
        offers // 100,
        0,
    )


def dead_letters(topic: str) -> float:
    found = [
        sample.value
        for metric in DEAD_LETTERS.collect()
        for sample in metric.samples
        if topic in sample.labels.values() and sample.name.endswith("_total")
    ]
    return sum(found)


def sent(processor: Processor, kind: type[RequestT]) -> list[RequestT]:
    return [request for request in processor.owner.log if isinstance(request, kind)]


@pytest.mark.parametrize("lost", [{0}, {3}, {2, 3, 10}, {1, 10, 0}])
async def test_a_load_whose_replies_are_lost_ends_as_if_they_had_come(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, lost: set[int]
) -> None:
    processor = await make_processor()
    processor.owner.swallows = {(1, number) for number in lost}
    processor.start()
    key = await begin(processor, yml, offer, tmp_path)
    task = await processor.wait_end(key)
    check_whole(task)
    assert processor.owner.runs() == [(key.task_id, 1)]
    times = Counter(batch.batch_id for batch in sent(processor, OfferBatch))
    assert times == {number: 2 if number in lost else 1 for number in range(1, 11)}
    assert task.warnings == []


@pytest.mark.parametrize("strange", [{0}, {3}, {0, 2}])
async def test_an_outcome_that_no_version_knows_is_a_dead_letter_and_asked_for_again(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, strange: set[int]
) -> None:
    processor = await make_processor(stall_s=1.0)
    processor.owner.babbles = {(1, number) for number in strange}
    before = dead_letters(processor.owner.results)
    processor.start()
    check_whole(await processor.wait_end(await begin(processor, yml, offer, tmp_path)))
    # The fake of these tests sends every reply twice.
    assert dead_letters(processor.owner.results) - before == 2 * len(strange)
    assert processor.owner.babbles == set()


async def test_an_end_of_unknown_outcome_that_gets_past_the_consumer_is_not_swallowed(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.owner.ignores_ends.set()
    processor.start()
    key = await begin(processor, yml, offer, tmp_path)
    task = await processor.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    end = TaskEndResult(**key._asdict(), run=task.run, outcome=77)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="outcome 77"):
        async with processor.database.transaction() as tx:
            await take_results(tx, JobStore(), [end])


async def test_a_full_window_without_replies_gives_its_slot_back_and_goes_on_when_the_owner_does(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 3600.0)  # only the reply wakes it
    processor = await make_processor(window_batches=4, stall_s=0.5)
    processor.owner.paused.set()
    processor.start()
    key = await begin(processor, yml, offer, tmp_path)

    async def running() -> int:
        async with processor.database.transaction() as tx:
            [[count]] = await (await tx.execute("SELECT count(*) FROM dl_jobs WHERE status = 'running'")).fetchall()
            return int(count)

    async def asks() -> int:
        async with processor.database.transaction() as tx:
            [[count]] = await (await tx.execute("SELECT asks FROM tasks")).fetchall()
            return int(count)

    async with asyncio.timeout(60):
        while not await asks() or await running():
            await asyncio.sleep(0.05)
    processor.owner.paused.clear()
    check_whole(await processor.wait_end(key))
    # All batches had been applied, so none was sent twice.
    assert [batch.batch_id for batch in sent(processor, OfferBatch)] == list(range(1, 11))
    # Slow replies to later batches may cause further checks.
    assert sent(processor, RunCheck)[0].last_batch_id == 4


async def test_a_full_window_whose_replies_are_lost_is_sent_again(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor(window_batches=4, stall_s=0.5)
    processor.owner.swallows = {(1, number) for number in (1, 2, 3, 4, -1)}
    processor.start()
    check_whole(await processor.wait_end(await begin(processor, yml, offer, tmp_path)))
    batches = [batch.batch_id for batch in sent(processor, OfferBatch)]
    assert batches == [1, 2, 3, 4, *range(1, 11)]
    # A run without a reply to its first check sends another one; slow replies may cause more.
    assert [check.last_batch_id for check in sent(processor, RunCheck)][:2] == [4, 4]


async def test_refused_batches_end_the_run_and_at_last_the_task_in_words(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor(window_batches=4)
    processor.owner.refuses = {(run, number) for run in (1, 2, 3) for number in range(1, 11)}
    processor.start()
    key = await begin(processor, yml, offer, tmp_path)
    task = await processor.wait_end(key)
    assert (task.status, task.error_code, len(processor.owner.runs())) == (FAILED, "RUNS_EXHAUSTED", 3)
    assert "batch 1 was refused: it is too large for me" in task.error_message
    processor.owner.refuses = {(1, 2)}
    again = await processor.wait_end(await processor.create(task.source_sha256, "again"))
    assert (again.status, again.statistics.total, len(processor.owner.offers)) == (SUCCEEDED, 1000, 990)


async def test_replies_that_are_lost_each_time_do_not_keep_the_namespace(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    """The load was applied, so it is not a failure; a warning says that the counts are too low."""
    processor = await make_processor()
    take = processor.owner.take

    def take_silently(request: Request) -> Reply | None:
        reply = take(request)
        return None if isinstance(request, OfferBatch) and request.batch_id == 3 else reply

    processor.owner.take = take_silently  # type: ignore[method-assign]
    processor.start()
    task = await processor.wait_end(await begin(processor, yml, offer, tmp_path))
    assert (task.status, task.statistics.total) == (SUCCEEDED, 900)
    assert len(sent(processor, TaskEnd)) == 3
    (warning,) = task.warnings
    assert "1 of its batches was lost" in warning


async def test_a_full_window_of_replies_that_never_come_is_given_up_in_words(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor(window_batches=4, stall_s=0.5)
    take = processor.owner.take

    def take_no_batch(request: Request) -> Reply | None:
        return None if isinstance(request, OfferBatch) else take(request)

    processor.owner.take = take_no_batch  # type: ignore[method-assign]
    processor.start()
    task = await processor.wait_end(await begin(processor, yml, offer, tmp_path))
    assert (task.status, task.error_code) == (FAILED, "RUNS_EXHAUSTED")
    assert "the replies to 4 batches were lost" in task.error_message


async def test_a_task_that_waits_holds_no_slot_and_the_next_of_its_namespace_begins_at_once(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 3600.0)  # only the reply wakes it
    processor = await make_processor()
    processor.owner.ignores_ends.set()
    processor.start()
    first = await begin(processor, yml, offer, tmp_path)
    others = [await processor.create(await processor.put(yml(offer(f"b{n}")), tmp_path)) for n in range(6)]

    async def running() -> int:
        async with processor.database.transaction() as tx:
            [[count]] = await (await tx.execute("SELECT count(*) FROM dl_jobs WHERE status = 'running'")).fetchall()
            return int(count)

    await processor.wait(first, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    async with asyncio.timeout(60):
        while await running():
            await asyncio.sleep(0.05)
    processor.owner.ignores_ends.clear()
    (end,) = processor.owner.ignored
    reply = processor.owner.take(end)
    assert reply is not None
    await processor.parts.sender.send([message_of(processor.owner.results, end.seller_id.encode(), reply)])
    check_whole(await processor.wait_end(first))
    async with asyncio.timeout(30):  # not minutes: each end makes the next task due
        for key in others:
            assert (await processor.wait_end(key)).status == SUCCEEDED


async def test_a_check_that_nobody_waits_for_any_more_says_nothing(migrated_database: MigratedDatabase) -> None:
    """It comes late or twice, while batches are in progress: these are not lost."""
    database = await migrated_database("classifeed_processor", "processor")
    request = CreateTaskRequest(seller_id="shop", namespace="default", upload_id="u1", source_sha256="a" * 64)
    key = await create_task(database, JobStore(), request, timeout_s=60)
    async with database.transaction() as tx:
        run = await tasks.begin_run(tx, key, b"")
        await tasks.insert_batches(tx, key, run, [(1, 5)])
        check = RunCheckResult(**key._asdict(), run=run, last_batch_id=1)
        assert await take_results(tx, JobStore(), [check]) == set()
        await tasks.stall(tx, key, run)
        assert await take_results(tx, JobStore(), [check, check]) == {key}
        state = await tasks.lock_task(tx, key)
        assert state is not None
        assert (state.window, state.incomplete_runs) == (domain.Window.REPORTED, 1)


async def test_who_asks_in_vain_is_counted(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_processor", "processor")
    keys = [
        await create_task(
            database,
            JobStore(),
            CreateTaskRequest(seller_id="shop", namespace="default", upload_id=f"u{n}", source_sha256="a" * 64),
            timeout_s=60,
        )
        for n in range(3)
    ]
    async with database.transaction() as tx:
        for key in keys[:2] * 3:
            await tasks.note_request(tx, key)
        await tasks.end_task(tx, keys[1], SUCCEEDED)
        count, seconds = await reading.count_unheard(tx, 3)
        assert (count, seconds >= 0, await reading.count_unheard(tx, 4)) == (1, True, (0, 0.0))


async def test_a_task_of_before_asks_by_itself(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    """Rows from before the column of jobs: replies do not make their jobs due."""
    processor = await make_processor()
    processor.owner.swallows = {(1, 0)}
    key = await begin(processor, yml, offer, tmp_path)
    async with processor.database.transaction() as tx:
        await tx.execute("UPDATE tasks SET job_id = NULL")
    processor.start()
    check_whole(await processor.wait_end(key))

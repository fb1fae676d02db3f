"""Lost replies and refused batches: the task requests a check, sends missing batches again, and ends."""

from __future__ import annotations

import asyncio
from collections import Counter
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

from ..conftest import Reply, Request, Scene

pytestmark = pytest.mark.kafka
SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
RequestT = TypeVar("RequestT", OfferBatch, TaskEnd, RunCheck)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 0.5)


async def begin(scene: Scene, offers: int = 1000) -> TaskKey:
    return await scene.upload(*(scene.offer(f"a{n}", price="x" if n % 100 == 0 else "5") for n in range(offers)))


async def load(scene: Scene) -> Task:
    """Start the processor, and return the completed task of a file."""
    scene.start()
    return await scene.wait_end(await begin(scene))


async def running(scene: Scene) -> int:
    [[count]] = await scene.sql("SELECT count(*) FROM dl_jobs WHERE status = 'running'")
    return int(count)


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


def sent(scene: Scene, kind: type[RequestT]) -> list[RequestT]:
    return [request for request in scene.owner.log if isinstance(request, kind)]


@pytest.mark.parametrize("lost", [{0}, {3}, {2, 3, 10}, {1, 10, 0}])
async def test_a_load_whose_replies_are_lost_ends_as_if_they_had_come(scene: Scene, lost: set[int]) -> None:
    scene.owner.swallows = {(1, number) for number in lost}
    task = await load(scene)
    check_whole(task)
    assert scene.owner.runs() == [(TaskKey.parse(task.name).task_id, 1)]
    times = Counter(batch.batch_id for batch in sent(scene, OfferBatch))
    assert times == {number: 2 if number in lost else 1 for number in range(1, 11)}
    assert task.warnings == []


@pytest.mark.parametrize("strange", [{0}, {3}, {0, 2}])
async def test_an_outcome_that_no_version_knows_is_a_dead_letter_and_asked_for_again(
    scene: Scene, strange: set[int]
) -> None:
    scene.limit(stall_s=1.0)
    scene.owner.babbles = {(1, number) for number in strange}
    before = dead_letters(scene.owner.results)
    check_whole(await load(scene))
    # The fake of these tests sends every reply twice.
    assert dead_letters(scene.owner.results) - before == 2 * len(strange)
    assert scene.owner.babbles == set()


async def test_an_end_of_unknown_outcome_that_gets_past_the_consumer_is_not_swallowed(scene: Scene) -> None:
    scene.owner.ignores_ends.set()
    scene.start()
    key = await begin(scene)
    task = await scene.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    end = TaskEndResult(**key._asdict(), run=task.run, outcome=77)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="outcome 77"):
        await scene.take(end)


async def test_a_full_window_without_replies_gives_its_slot_back_and_goes_on_when_the_owner_does(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 3600.0)  # only the reply wakes it
    scene.limit(window_batches=4, stall_s=0.5)
    scene.owner.paused.set()
    scene.start()
    key = await begin(scene)

    async def asks() -> int:
        [[count]] = await scene.sql("SELECT asks FROM tasks")
        return int(count)

    async with asyncio.timeout(60):
        while not await asks() or await running(scene):
            await asyncio.sleep(0.05)
    scene.owner.paused.clear()
    check_whole(await scene.wait_end(key))
    # All batches had been applied, so none was sent twice.
    assert [batch.batch_id for batch in sent(scene, OfferBatch)] == list(range(1, 11))
    # Slow replies to later batches may cause further checks.
    assert sent(scene, RunCheck)[0].last_batch_id == 4


async def test_a_full_window_whose_replies_are_lost_is_sent_again(scene: Scene) -> None:
    scene.limit(window_batches=4, stall_s=0.5)
    scene.owner.swallows = {(1, number) for number in (1, 2, 3, 4, -1)}
    check_whole(await load(scene))
    batches = [batch.batch_id for batch in sent(scene, OfferBatch)]
    assert batches == [1, 2, 3, 4, *range(1, 11)]
    # A run without a reply to its first check sends another one; slow replies may cause more.
    assert [check.last_batch_id for check in sent(scene, RunCheck)][:2] == [4, 4]


async def test_refused_batches_end_the_run_and_at_last_the_task_in_words(scene: Scene) -> None:
    scene.limit(window_batches=4)
    scene.owner.refuses = {(run, number) for run in (1, 2, 3) for number in range(1, 11)}
    task = await load(scene)
    assert (task.status, task.error_code, len(scene.owner.runs())) == (FAILED, "RUNS_EXHAUSTED", 3)
    assert "batch 1 was refused: it is too large for me" in task.error_message
    scene.owner.refuses = {(1, 2)}
    again = await scene.wait_end(await scene.create(task.source_sha256, "again"))
    assert (again.status, again.statistics.total, len(scene.owner.offers)) == (SUCCEEDED, 1000, 990)


async def test_replies_that_are_lost_each_time_do_not_keep_the_namespace(scene: Scene) -> None:
    """The load was applied, so it is not a failure; a warning says that the counts are too low."""
    take = scene.owner.take

    def take_silently(request: Request) -> Reply | None:
        reply = take(request)
        return None if isinstance(request, OfferBatch) and request.batch_id == 3 else reply

    scene.owner.take = take_silently  # type: ignore[method-assign]
    task = await load(scene)
    assert (task.status, task.statistics.total) == (SUCCEEDED, 900)
    assert len(sent(scene, TaskEnd)) == 3
    (warning,) = task.warnings
    assert "1 of its batches was lost" in warning


async def test_a_full_window_of_replies_that_never_come_is_given_up_in_words(scene: Scene) -> None:
    scene.limit(window_batches=4, stall_s=0.5)
    take = scene.owner.take

    def take_no_batch(request: Request) -> Reply | None:
        return None if isinstance(request, OfferBatch) else take(request)

    scene.owner.take = take_no_batch  # type: ignore[method-assign]
    task = await load(scene)
    assert (task.status, task.error_code) == (FAILED, "RUNS_EXHAUSTED")
    assert "the replies to 4 batches were lost" in task.error_message


async def test_a_task_that_waits_holds_no_slot_and_the_next_of_its_namespace_begins_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_FIRST_REQUEST_S", 3600.0)  # only the reply wakes it
    scene.owner.ignores_ends.set()
    scene.start()
    first = await begin(scene)
    others = [await scene.upload(scene.offer(f"b{n}")) for n in range(6)]

    await scene.wait(first, lambda task: task.phase == task_pb2.TASK_PHASE_SENT)
    async with asyncio.timeout(60):
        while await running(scene):
            await asyncio.sleep(0.05)
    scene.owner.ignores_ends.clear()
    (end,) = scene.owner.ignored
    reply = scene.owner.take(end)
    assert reply is not None
    await scene.parts.sender.send([message_of(scene.owner.results, end.seller_id.encode(), reply)])
    check_whole(await scene.wait_end(first))
    async with asyncio.timeout(30):  # not minutes: each end makes the next task due
        for key in others:
            assert (await scene.wait_end(key)).status == SUCCEEDED


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


async def test_a_task_of_before_asks_by_itself(scene: Scene) -> None:
    """Rows from before the column of jobs: replies do not make their jobs due."""
    scene.owner.swallows = {(1, 0)}
    key = await begin(scene)
    await scene.sql("UPDATE tasks SET job_id = NULL")
    scene.start()
    check_whole(await scene.wait_end(key))

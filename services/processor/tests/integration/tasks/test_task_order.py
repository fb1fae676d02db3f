"""Tasks that run or are superseded, for any order of uploads, fetches and removals, with immediate replies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, TaskEnd
from classifeed_common.errors import Unavailable
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_feeds.batches import RunDigest
from classifeed_jobs import Snooze
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import tasks

from ..inline import BROKEN, GOOD, PAGE, Runner, sources

SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
SUPERSEDED, HELD = task_pb2.TASK_STATUS_SUPERSEDED, task_pb2.TASK_STATUS_HELD


@pytest.mark.parametrize("disposition", [load_pb2.DISPOSITION_DELETE, load_pb2.DISPOSITION_MAKE_MANUAL])
async def test_a_removal_is_a_run_without_batches(runner: Runner, disposition: load_pb2.Disposition) -> None:
    task = await runner.run(await runner.remove(3, disposition=disposition))
    assert (task.status, task.phase) == (SUCCEEDED, task_pb2.TASK_PHASE_DONE)
    assert (task.kind, task.feed_version, task.statistics.total) == (task_pb2.TASK_KIND_DELETE, 3, 0)
    (end,) = runner.owner.log
    assert isinstance(end, TaskEnd)
    assert (end.batch_count, end.digest, end.mode) == (0, RunDigest().value(), load_pb2.LOAD_MODE_REPLACE)
    assert end.disposition == disposition


async def test_a_removal_waits_for_the_load_before_it_and_takes_the_place_of_a_held_one(runner: Runner) -> None:
    load, removal = await runner.upload("u1"), await runner.remove(1)
    with pytest.raises(Snooze):
        await runner.run(removal)
    async with runner.db.transaction() as tx:
        await tasks.hold_task(tx, load, load_pb2.LoadHold())
    assert (await runner.run(removal)).status == SUCCEEDED
    assert (await runner.task(load)).status == SUPERSEDED


async def test_the_end_is_said_only_once_every_batch_is_acknowledged(runner: Runner) -> None:
    key = await runner.upload("u1")
    runner.owner.loses_batches = True
    with pytest.raises(Unavailable):
        await runner.run(key)
    assert runner.owner.log == []
    task = await runner.task(key)
    assert task.phase == task_pb2.TASK_PHASE_PARSING
    runner.owner.loses_batches = False
    assert (await runner.run(key)).status == SUCCEEDED
    assert [(type(it), it.run > task.run) for it in runner.owner.log] == [(OfferBatch, True), (TaskEnd, True)]


async def test_a_result_that_comes_again_counts_once(runner: Runner) -> None:
    runner.owner.repeats = True
    task = await runner.run(await runner.upload("u1"))
    assert (task.status, task.statistics.added, task.statistics.total) == (SUCCEEDED, 2, 2)


async def test_a_late_fetch_is_superseded_and_leaves_what_is_held_alone(runner: Runner) -> None:
    newer = await runner.fetch(1, 5)
    async with runner.db.transaction() as tx:
        await tasks.hold_task(tx, newer, load_pb2.LoadHold())
    late = await runner.run(await runner.fetch(1, 4, source_sha256=BROKEN))
    assert (late.status, late.run, late.error_code) == (SUPERSEDED, 0, "")
    assert (await runner.task(newer)).status == HELD
    assert (await runner.run(await runner.upload("u1"))).status == SUCCEEDED
    assert (await runner.task(newer)).status == SUPERSEDED


async def test_a_file_of_another_format_than_the_wanted_one_fails_in_words(runner: Runner) -> None:
    task = await runner.run(await runner.fetch(1, 1, format="google_rss"))
    assert (task.status, task.error_code, task.format) == (FAILED, "FORMAT_DIFFERS", "yml")
    assert "yml" in task.error_message
    assert "google_rss" in task.error_message
    assert "any format" in task.error_message
    assert runner.owner.log == []
    assert (await runner.run(await runner.fetch(1, 2, format="yml"))).status == SUCCEEDED


async def test_a_page_in_place_of_a_feed_is_remedied_where_it_came_from(runner: Runner) -> None:
    fetched = await runner.run(await runner.fetch(1, 1, source_sha256=PAGE))
    sent = await runner.run(await runner.upload("u1", source_sha256=PAGE))
    assert [task.error_code for task in (fetched, sent)] == ["NOT_A_FEED", "NOT_A_FEED"]
    assert "Open the link in a browser" in fetched.error_message
    assert "Open the file that you sent" in sent.error_message


Step = tuple[Any, ...]  # an action with its numbers and flags
_UPLOADS = st.tuples(st.just("upload"))
_FETCHES = st.tuples(st.just("fetch"), st.integers(1, 3), st.integers(1, 6), st.booleans())
_REMOVALS = st.tuples(st.just("remove"), st.integers(1, 3))
_STEPS = st.lists(st.one_of(_UPLOADS, _FETCHES, _FETCHES, _REMOVALS, st.tuples(st.just("run"))), max_size=12)


@settings(max_examples=60 if IS_LONG else 25)
@given(steps=_STEPS)
async def test_no_fetch_runs_after_a_newer_one_or_a_later_removal_and_all_else_does(
    runner: Runner, steps: list[Step]
) -> None:
    runner = type(runner)(runner.db, runner.owner, runner.parts, f"shop-{runner.source}-{next(sources)}")
    made: dict[int, Step] = {}
    waiting: list[TaskKey] = []
    removed: set[int] = set()
    loaded: list[tuple[int, int]] = []
    reached: list[int] = []

    async def run_next() -> None:
        key = waiting.pop(0)
        kind, *order = made[key.task_id]
        status = (await runner.run(key)).status
        if kind != "fetch":
            assert status == SUCCEEDED
            reached.append(key.task_id)
            return
        version, result, is_good = order
        late = any(version < other for other in removed) or any((version, result) < other for other in loaded)
        assert status == (SUPERSEDED if late else SUCCEEDED if is_good else FAILED)
        if not late:
            loaded.append((version, result))
            reached.extend([key.task_id] if is_good else [])

    fetched: set[int] = set()
    for number, (kind, *order) in enumerate(steps):
        if kind == "run":
            if waiting:
                await run_next()
            continue
        if kind == "upload":
            key = await runner.upload(f"{runner.seller}-{number}")
        elif kind == "remove":
            removed.add(order[0])
            key = await runner.remove(*order)
        elif order[1] in fetched:
            continue
        else:
            fetched.add(order[1])
            version, result, is_good = order
            key = await runner.fetch(version, result, source_sha256=GOOD if is_good else BROKEN)
        if key.task_id not in made:
            made[key.task_id] = (kind, *order)
            waiting.append(key)
    while waiting:
        await run_next()
    assert loaded == sorted(loaded)
    assert runner.owner.ended(runner.seller) == reached

"""A small namespace is swept in the transaction that takes the end of its run; a larger one by a job."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL, Disposition
from classifeed.feeds.v1.offer_results_pb2 import TASK_END_OUTCOME_COMPLETED, TASK_END_OUTCOME_STALE, TaskEndResult
from classifeed_common.db import Database
from classifeed_jobs import JobStore
from classifeed_offers.app.loads.apply_requests import apply_requests
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.jobs.sweep import QUEUE, SweepJobs

from ...conftest import Load, Owner, Records


async def take(database: Database, messages: list[Any], at_once_offers: int = 3) -> list[Any]:
    sweeps = SweepJobs(JobStore(), guard=Guard(), at_once_offers=at_once_offers)
    async with database.transaction() as tx:
        return await apply_requests(tx, messages, moderation=ApprovedBySetting(), sweeps=sweeps, guard=Guard())


def ends_of(results: list[Any]) -> list[TaskEndResult]:
    return [result for result in results if isinstance(result, TaskEndResult)]


async def jobs(database: Database) -> int:
    async with database.transaction() as tx:
        return len(await JobStore().list_jobs(tx, queue=QUEUE))


@pytest.mark.parametrize(
    ("disposition", "left", "counts"),
    [(DISPOSITION_DELETE, {"a"}, (2, 0)), (DISPOSITION_MAKE_MANUAL, {"a", "b", "c"}, (0, 2))],
)
async def test_the_end_of_a_small_namespace_gets_its_result_at_once(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    disposition: Disposition,
    left: set[str],
    counts: tuple[int, int],
) -> None:
    await take(owner.database, new_load([records.good(name) for name in "abc"]).messages)
    load = new_load([records.good("a")], task=2, disposition=disposition)
    results = await take(owner.database, load.messages)
    assert (results[-1].outcome, results[-1].removed, results[-1].made_manual) == (TASK_END_OUTCOME_COMPLETED, *counts)
    assert await owner.alive() == left
    assert await take(owner.database, load.messages) == results, "and the same one again"
    assert await jobs(owner.database) == 0


async def test_rows_of_removed_offers_count_as_they_are_read(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await take(owner.database, new_load([records.good(name) for name in "abc"]).messages)
    await take(owner.database, new_load([records.good("a")], task=2).messages)
    results = await take(owner.database, new_load([records.good("d")], task=3).messages)
    assert ends_of(results) == []
    assert await jobs(owner.database) == 1


async def test_a_larger_namespace_is_swept_by_a_job(owner: Owner, records: Records, new_load: type[Load]) -> None:
    results = await take(owner.database, new_load([records.good(name) for name in "abcd"]).messages)
    assert ends_of(results) == []
    assert await jobs(owner.database) == 1


async def test_a_run_that_was_overtaken_in_its_poll_removes_nothing(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await take(owner.database, new_load([records.good(name) for name in "abc"]).messages)
    older, newer = new_load([records.good("a")], task=2), new_load([records.good("b")], task=3)
    [end] = ends_of(await take(owner.database, [*older.messages, *newer.batches]))
    assert end.outcome == TASK_END_OUTCOME_STALE
    assert await owner.alive() == {"a", "b", "c"}
    [end] = ends_of(await take(owner.database, [newer.end]))
    assert end.outcome == TASK_END_OUTCOME_COMPLETED
    assert await owner.alive() == {"b"}

"""Decisions under the lock of a namespace's head stay valid until the commit: other transactions wait for the head."""

from __future__ import annotations

import asyncio
from typing import Any

from classifeed.feeds.v1.offer_results_pb2 import BATCH_OUTCOME_APPLIED, BATCH_OUTCOME_STALE, TASK_END_OUTCOME_STALE
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_offers.app.loads.apply_requests import apply_requests
from classifeed_offers.app.loads.sweep_run import sweep_step
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.moderation import ApprovedBySetting

from ...conftest import Load, Owner, Records


async def test_a_newer_task_waits_for_batches_that_are_being_applied(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    """The batches do not move the head, so only its lock keeps the newer task from being written first."""
    older = new_load([records.good(name) for name in "abcd"], task=1)
    newer = new_load([records.good("e")], task=2)
    await owner.take(older.batches[:1])
    async with owner.database.transaction() as tx:
        applied: Any
        [applied] = await apply_requests(
            tx, older.batches[1:], moderation=ApprovedBySetting(), sweeps=owner, guard=owner.guard
        )
        taking = asyncio.create_task(owner.take(newer.batches))
        assert await comes_to_wait(taking, owner.database, behind=tx)
    [taken] = await taking
    assert (applied.outcome, taken.outcome) == (BATCH_OUTCOME_APPLIED, BATCH_OUTCOME_APPLIED)
    third = new_load([records.good(name) for name in "abcdgh"], task=1).batches[2:]
    assert [result.outcome for result in await owner.take(third)] == [BATCH_OUTCOME_STALE]


async def test_a_newer_task_waits_for_a_step_of_a_sweep(owner: Owner, records: Records, new_load: type[Load]) -> None:
    run = await a_sweep_that_is_due(owner, records, new_load)
    async with owner.database.transaction() as tx:
        assert (await sweep_step(tx, run, guard=owner.guard)).more
        taking = asyncio.create_task(owner.take(new_load([records.good("z")], task=3).batches))
        assert await comes_to_wait(taking, owner.database, behind=tx)
    await taking
    result = (await owner.step(run)).result
    assert result is not None
    assert result.outcome == TASK_END_OUTCOME_STALE
    assert await owner.alive() == {"a", "b", "c", "z"}


async def test_a_sweep_waits_for_a_newer_task_and_sees_it(owner: Owner, records: Records, new_load: type[Load]) -> None:
    run = await a_sweep_that_is_due(owner, records, new_load)
    async with owner.database.transaction() as tx:
        newer = new_load([records.good("z")], task=3)
        await apply_requests(tx, newer.batches, moderation=ApprovedBySetting(), sweeps=owner, guard=owner.guard)
        stepping = asyncio.create_task(owner.step(run))
        assert await comes_to_wait(stepping, owner.database, behind=tx)
    result = (await stepping).result
    assert result is not None
    assert result.outcome == TASK_END_OUTCOME_STALE
    assert await owner.alive() == {"a", "b", "c", "z"}


async def test_the_run_that_ended_says_what_is_lacking(owner: Owner, records: Records, new_load: type[Load]) -> None:
    """A file that is read again may have other offers, by a newer version of the parser."""
    await owner.load(new_load([records.good(name) for name in "abc"], task=1))
    await owner.take(new_load([records.good("a"), records.good("b")], task=2, run=1).batches)
    await owner.load(new_load([records.good("a")], task=2, run=2))
    assert await owner.alive() == {"a"}


async def a_sweep_that_is_due(owner: Owner, records: Records, new_load: type[Load]) -> RunKey:
    """Load a, b and c, then only a, and return the run whose sweep would remove b and c."""
    await owner.load(new_load([records.good(name) for name in "abc"], task=1))
    await owner.take(new_load([records.good("a")], task=2).messages)
    [run] = owner.sweeps
    return run

"""Held tasks: decided once, by a job that may die, with newer tasks and late replies at the same time."""

from __future__ import annotations

import asyncio

import pytest

from classifeed.feeds.v1 import offer_results_pb2, task_pb2
from classifeed.feeds.v1.load_pb2 import HOLD_REASON_REMOVALS, LoadHold
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_ALLOW_CHANGES,
    HOLD_DECISION_ALLOW_REMOVALS,
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import TaskEndResult
from classifeed_common.db import Tx
from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_jobs import JobStore, Snooze
from classifeed_processor import metrics
from classifeed_processor.app.tasks.create_task import QUEUE
from classifeed_processor.app.tasks.decide_task import decide_task
from classifeed_processor.app.tasks.watch_loads import measure_loads
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading, tasks

from ..inline import Runner

CONFIRM, REJECT, UNDECIDED = HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT, HOLD_DECISION_UNSPECIFIED
IN_PROGRESS, HELD = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD
SUCCEEDED, SUPERSEDED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_SUPERSEDED


async def decide(runner: Runner, key: TaskKey, decision: HoldDecision) -> None:
    await decide_task(runner.db, JobStore(), key, decision, timeout_s=60)


async def backlog(runner: Runner) -> int:
    async with runner.db.transaction() as tx:
        return (await JobStore().backlog(tx, [QUEUE])).get(QUEUE, 0)


def decisions(runner: Runner) -> list[int]:
    return [it.decision for it in runner.owner.log if isinstance(it, TaskEnd)]


@pytest.fixture
async def held(runner: Runner) -> TaskKey:
    """Create a task that is held because it would remove 30 offers."""
    runner.owner.removals = 30
    key = await runner.upload("u1")
    task = await runner.run(key)
    assert (task.status, task.phase) == (HELD, task_pb2.TASK_PHASE_SENT)
    assert task.hold == LoadHold(reasons=[HOLD_REASON_REMOVALS], removals=30, offers=30)
    assert (task.statistics.added, task.statistics.removed) == (2, 0), "the rest was applied"
    return key


@pytest.mark.parametrize(
    ("decision", "removed", "code"), [(CONFIRM, 30, None), (REJECT, 0, "REMOVALS_REJECTED: 30 offers")]
)
async def test_a_decision_ends_the_task_and_only_the_first_counts(
    runner: Runner, held: TaskKey, decision: HoldDecision, removed: int, code: str | None
) -> None:
    jobs = await backlog(runner)
    await asyncio.gather(decide(runner, held, decision), decide(runner, held, decision))
    assert await backlog(runner) == jobs + 1, "two at once act once"
    assert (await runner.task(held)).status == IN_PROGRESS
    with pytest.raises(FailedPrecondition, match="before") as refused:
        await decide(runner, held, CONFIRM if decision == REJECT else REJECT)
    assert refused.value.reason == "TASK_DECIDED"
    task = await runner.run(held)
    assert (task.status, task.decision, task.statistics.removed) == (SUCCEEDED, decision, removed)
    assert task.hold.removals == 30, "what it was held for stays"
    assert [warning.startswith(code or "") for warning in task.warnings] == [True] * bool(code)
    assert decisions(runner) == [UNDECIDED, decision]
    await decide(runner, held, decision)
    assert await backlog(runner) == jobs + 1, "and again, when it has ended"


async def test_confirm_and_reject_at_once_are_one_decision(runner: Runner, held: TaskKey) -> None:
    outcomes = await asyncio.gather(decide(runner, held, CONFIRM), decide(runner, held, REJECT), return_exceptions=True)
    assert sorted(type(it).__name__ for it in outcomes) == ["FailedPrecondition", "NoneType"]
    assert (await runner.run(held)).status == SUCCEEDED


async def test_what_is_not_held_is_not_decided_about(runner: Runner) -> None:
    ended, waiting = await runner.upload("u1"), await runner.upload("u2", allow_removals=True)
    await runner.run(ended)
    for key in (ended, waiting):
        with pytest.raises(FailedPrecondition, match="HELD") as refused:
            await decide(runner, key, CONFIRM)
        assert refused.value.reason == "TASK_NOT_HELD"
    with pytest.raises(NotFound):
        await decide(runner, ended._replace(task_id=7), CONFIRM)


async def test_removals_that_are_allowed_beforehand_and_of_a_removed_feed_are_never_held(runner: Runner) -> None:
    runner.owner.removals = 30
    allowed = await runner.run(await runner.upload("u1", allow_removals=True))
    removed = await runner.run(await runner.remove(3))
    assert [(it.status, it.statistics.removed) for it in (allowed, removed)] == [(SUCCEEDED, 30)] * 2
    assert decisions(runner) == [HOLD_DECISION_ALLOW_REMOVALS, CONFIRM]


@pytest.mark.parametrize(
    ("allowed", "decision", "status"),
    [
        ({"allow_removals": True}, HOLD_DECISION_ALLOW_REMOVALS, HELD),
        ({"allow_changes": True}, HOLD_DECISION_ALLOW_CHANGES, HELD),
        ({"allow_removals": True, "allow_changes": True}, CONFIRM, SUCCEEDED),
    ],
)
async def test_what_was_allowed_is_not_what_the_load_is_held_for(
    runner: Runner, allowed: dict[str, bool], decision: HoldDecision, status: task_pb2.TaskStatus
) -> None:
    """A load that is held although something was allowed is decided like any other."""
    runner.owner.removals, runner.owner.changes = 30, 2
    key = await runner.upload("u1", **allowed)
    assert (await runner.run(key)).status == status
    assert decisions(runner) == [decision]
    if status == HELD:
        await decide(runner, key, CONFIRM)
        task = await runner.run(key)
        assert (task.status, task.statistics.removed, decisions(runner)) == (SUCCEEDED, 30, [decision, CONFIRM])
    assert (await runner.task(key)).statistics.updated == 2


@pytest.mark.parametrize(("decision", "updated"), [(CONFIRM, 2), (REJECT, 0)])
async def test_changes_that_wait_are_skipped_until_they_are_made(
    runner: Runner, decision: HoldDecision, updated: int
) -> None:
    runner.owner.changes = 2
    runner.owner.repeats = True
    key = await runner.upload("u1")
    counted = (await runner.run(key)).statistics
    assert (counted.total, counted.skipped, counted.updated) == (2, 2, 0)
    await decide(runner, key, decision)
    task = await runner.run(key)
    counted = task.statistics
    assert (counted.total, counted.skipped, counted.updated) == (2, 2 - updated, updated)
    rejected = ["CHANGES_REJECTED: 2 offers stay as they were"] if decision == REJECT else []
    assert [warning.partition(",")[0] for warning in task.warnings] == rejected


async def test_late_replies_do_not_hold_a_decided_task_again(runner: Runner, held: TaskKey) -> None:
    end = next(it for it in runner.owner.log if isinstance(it, TaskEnd))
    address = {name: getattr(end, name) for name in ("seller_id", "namespace", "task_id", "run")}
    late = TaskEndResult(**address, outcome=offer_results_pb2.TASK_END_OUTCOME_HELD, hold=LoadHold(removals=1))
    await runner.owner.say(late)
    assert (await runner.task(held)).hold.removals == 30
    await decide(runner, held, CONFIRM)
    await runner.owner.say(late, late)
    assert (await runner.task(held)).status == IN_PROGRESS
    assert (await runner.run(held)).status == SUCCEEDED
    await runner.owner.say(late)
    assert (await runner.task(held)).status == SUCCEEDED


async def test_killed_between_decision_and_its_end_the_job_goes_on(
    runner: Runner, held: TaskKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost reply is requested again."""
    await decide(runner, held, REJECT)
    runner.owner.loses_ends = True
    monkeypatch.setattr("classifeed_processor.app.runs.process_feed._LONGEST_WAIT_S", 0.0)
    with pytest.raises(Snooze):
        await runner.run(held)
    runner.owner.loses_ends = False
    async with runner.db.transaction() as tx:
        await tx.execute("UPDATE tasks SET asked_at = asked_at - interval '1 hour'")
    task = await runner.run(held)
    assert (task.status, task.statistics.removed) == (SUCCEEDED, 0)
    assert decisions(runner) == [UNDECIDED, REJECT, REJECT]


async def test_an_owner_that_lost_the_run_gets_it_anew_with_the_decision(runner: Runner, held: TaskKey) -> None:
    """The database was restored from a backup before the batches."""
    runner.owner.forgotten = {(it.task_id, it.run) for it in runner.owner.log}
    await decide(runner, held, CONFIRM)
    task = await runner.run(held)
    assert (task.status, task.statistics.removed, task.statistics.total) == (SUCCEEDED, 30, 2)
    assert decisions(runner) == [UNDECIDED, CONFIRM, CONFIRM]


@pytest.mark.parametrize("outcome", ["COMPLETED", "INCOMPLETE", "STALE"])
async def test_a_restored_processor_takes_what_its_owner_replied_to_the_lost_decision(
    runner: Runner, held: TaskKey, outcome: str
) -> None:
    end = next(it for it in runner.owner.log if isinstance(it, TaskEnd))
    address = {name: getattr(end, name) for name in ("seller_id", "namespace", "task_id", "run")}
    removed = 30 if outcome == "COMPLETED" else 0
    await runner.owner.say(TaskEndResult(**address, outcome=f"TASK_END_OUTCOME_{outcome}", removed=removed))
    expected = {"COMPLETED": SUCCEEDED, "INCOMPLETE": HELD, "STALE": SUPERSEDED}[outcome]
    task = await runner.task(held)
    assert (task.status, task.run) == (expected, end.run)
    if outcome == "INCOMPLETE":  # after another decision, it ends, too
        await decide(runner, held, CONFIRM)
        assert (await runner.run(held)).status == SUCCEEDED


async def test_a_newer_task_that_waits_goes_first_or_after_the_decided_one(runner: Runner, held: TaskKey) -> None:
    newer = await runner.upload("u2")
    await decide(runner, held, CONFIRM)
    with pytest.raises(Snooze):
        await runner.run(newer)
    assert (await runner.run(held)).status == SUCCEEDED
    assert (await runner.run(newer)).status == HELD
    third = await runner.upload("u3", allow_removals=True)
    assert (await runner.run(third)).status == SUCCEEDED
    assert (await runner.task(newer)).status == SUPERSEDED
    with pytest.raises(FailedPrecondition, match="SUPERSEDED"):
        await decide(runner, newer, CONFIRM)


async def test_a_decision_between_two_looks_of_a_newer_task_has_its_turn_first(
    runner: Runner, held: TaskKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = await runner.upload("u2")
    real = tasks.supersede_held

    async def decide_first(tx: Tx, key: TaskKey) -> list[TaskKey]:
        await decide(runner, held, REJECT)
        return await real(tx, key)

    monkeypatch.setattr(tasks, "supersede_held", decide_first)
    with pytest.raises(Snooze):
        await runner.run(newer)
    assert (await runner.task(newer)).run == 0
    assert (await runner.run(held)).status == SUCCEEDED


async def test_a_decision_waits_for_a_newer_task_that_begins(runner: Runner, held: TaskKey) -> None:
    newer = await runner.upload("u2")
    async with runner.db.transaction() as tx:
        await tasks.supersede_held(tx, newer)
        deciding = asyncio.create_task(decide(runner, held, CONFIRM))
        assert await comes_to_wait(deciding, runner.db, behind=tx)
    with pytest.raises(FailedPrecondition, match="SUPERSEDED"):
        await deciding


async def test_what_waits_for_a_decision_is_shown_and_leaves_the_service_settled(runner: Runner, held: TaskKey) -> None:
    async with runner.db.transaction() as tx:
        await tx.execute("UPDATE tasks SET held_at = held_at - interval '1 hour'")
        await measure_loads(tx)
        assert await reading.count_open(tx) == 0
    assert (metrics.HELD._value.get(), metrics.OPEN._value.get()) == (1, 0)
    assert 3600 <= metrics.OLDEST_HELD._value.get() < 3700
    await decide(runner, held, REJECT)
    async with runner.db.transaction() as tx:
        await measure_loads(tx)
    assert (metrics.HELD._value.get(), metrics.OPEN._value.get()) == (0, 1)
    await runner.run(held)
    async with runner.db.transaction() as tx:
        await measure_loads(tx)
    assert (metrics.HELD._value.get(), metrics.OLDEST_HELD._value.get()) == (0, 0)

"""Loads that would remove too much: held, decided once, or superseded; and nothing is lost meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_MAKE_MANUAL,
    HOLD_REASON_NO_OFFERS,
    HOLD_REASON_REMOVALS,
    LOAD_MODE_PATCH,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HoldDecision,
    OfferRecord,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_HELD,
    TASK_END_OUTCOME_STALE,
    TaskEndOutcome,
    TaskEndResult,
)
from classifeed_jobs import JobStore
from classifeed_offers.app.loads import apply_requests as apply_module
from classifeed_offers.app.loads.decide_hold import decide_hold
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.jobs.sweep import SweepJobs

from ...conftest import Load, Owner, Records, Results

CONFIRM, REJECT = HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT
COMPLETED, HELD, STALE = TASK_END_OUTCOME_COMPLETED, TASK_END_OUTCOME_HELD, TASK_END_OUTCOME_STALE
ALL = {f"{number:02}" for number in range(40)}

Goods = Callable[..., list[OfferRecord]]


def end_of(results: Results) -> TaskEndResult:
    (end,) = [result for result in results if isinstance(result, TaskEndResult)]
    return end


@pytest.fixture
def goods(records: Records) -> Goods:
    """Return the records with the numbers of a range."""
    return lambda *bounds: [records.good(f"{number:02}") for number in range(*bounds)]


@pytest.fixture
async def held(owner: Owner, goods: Goods, new_load: type[Load]) -> tuple[Load, TaskEndResult]:
    """40 offers, and a load of 10 that lacks 30 of them."""
    await owner.load(new_load(goods(40), batch_size=100))
    load = new_load(goods(10), task=2, batch_size=100)
    results = await owner.load(load)
    assert end_of(results).outcome == HELD
    return load, end_of(results)


async def left(owner: Owner) -> tuple[int, int]:
    """Return the numbers of stored slices and of batches with `seen`."""
    async with owner.database.transaction() as tx:
        [row] = await (
            await tx.execute("SELECT (SELECT count(*) FROM sweep_slices), count(seen) FROM applied_batches")
        ).fetchall()
    return row


async def test_a_held_load_says_what_it_would_do_and_does_nothing(
    owner: Owner, held: tuple[Load, TaskEndResult]
) -> None:
    load, end = held
    assert await owner.alive() == ALL
    hold = end.hold
    assert (list(hold.reasons), hold.removals, hold.offers) == ([HOLD_REASON_REMOVALS], 30, 40)
    assert [(it.external_id, it.title) for it in hold.sample_offers] == [
        (f"{number}", f"offer {number}") for number in range(10, 20)
    ]
    assert (hold.renamed, hold.renamed_from, hold.renamed_to) == (0, "", "")
    assert (end.removed, end.kept) == (0, 0)
    assert end_of(await owner.take(load.messages)) == end, "and again the same"
    assert (owner.sweeps, await owner.alive()) == ([], ALL)


@pytest.mark.parametrize("at_once_offers", [0, 300], ids=["job", "at once"])
@pytest.mark.parametrize(
    ("decision", "removed", "kept", "alive"),
    [(CONFIRM, 30, 0, {f"{number:02}" for number in range(10)}), (REJECT, 0, 30, ALL)],
)
async def test_the_first_decision_counts(
    owner: Owner,
    held: tuple[Load, TaskEndResult],
    at_once_offers: int,
    decision: HoldDecision,
    removed: int,
    kept: int,
    alive: set[str],
) -> None:
    load, _ = held
    sweeps = SweepJobs(JobStore(), guard=Guard(), at_once_offers=300) if at_once_offers else owner
    other = REJECT if decision == CONFIRM else CONFIRM

    async def take(*requests: TaskEnd) -> Results:
        async with owner.database.transaction() as tx:
            results = await apply_module.apply_requests(
                tx, list(requests), moderation=ApprovedBySetting(), sweeps=sweeps, guard=Guard()
            )
        return [*results, *await owner.sweep()]

    results = await take(load.decided(decision), load.decided(decision), load.decided(other))
    assert {(it.outcome, it.removed, it.kept) for it in results} == {(COMPLETED, removed, kept)}
    assert await owner.alive() == alive
    assert await left(owner) == (0, 0)
    for again in (load.end, load.decided(decision), load.decided(other)):
        [result] = await take(again)
        assert (result.outcome, result.removed, result.kept) == (COMPLETED, removed, kept)
    assert await owner.alive() == alive


async def test_a_confirmed_sweep_that_is_under_way_is_not_rejected_any_more(
    owner: Owner, held: tuple[Load, TaskEndResult]
) -> None:
    load, _ = held
    assert await owner.take([load.decided(CONFIRM)]) == []
    assert await owner.take([load.decided(REJECT), load.decided(CONFIRM)]) == []
    [end] = await owner.sweep()
    assert (end.outcome, end.removed) == (COMPLETED, 30)


@pytest.mark.parametrize("decision", [CONFIRM, REJECT])
async def test_a_decision_after_a_newer_load_has_begun_is_stale(
    owner: Owner, held: tuple[Load, TaskEndResult], goods: Goods, new_load: type[Load], decision: HoldDecision
) -> None:
    load, _ = held
    newer = new_load(goods(40), task=3, batch_size=100)
    await owner.take(newer.batches)
    [result] = [*await owner.take([load.decided(decision)]), *await owner.sweep()]
    assert result.outcome == STALE
    assert await owner.alive() == ALL
    assert end_of([*await owner.take([newer.end]), *await owner.sweep()]).outcome == COMPLETED
    assert end_of(await owner.take([load.decided(CONFIRM)])).outcome == STALE
    assert (await owner.alive(), await left(owner)) == (ALL, (0, 0))


async def test_a_confirmed_sweep_gives_way_to_a_newer_load(
    owner: Owner, held: tuple[Load, TaskEndResult], goods: Goods, new_load: type[Load]
) -> None:
    load, _ = held
    await owner.take([load.decided(CONFIRM)])
    await owner.take(new_load(goods(40), task=3, batch_size=100).batches)
    assert [it.outcome for it in await owner.sweep()] == [STALE]
    assert await owner.alive() == ALL


@pytest.mark.parametrize("mode", ["replace", "patch"])
async def test_the_end_of_a_newer_load_drops_what_was_held(
    owner: Owner, held: tuple[Load, TaskEndResult], goods: Goods, new_load: type[Load], records: Records, mode: str
) -> None:
    assert await left(owner) == (1, 1)
    newer = {
        "replace": new_load(goods(40), task=3, batch_size=100),
        "patch": new_load([records.patch("00", 7)], task=3, mode=LOAD_MODE_PATCH),
    }[mode]
    assert end_of(await owner.load(newer)).outcome == COMPLETED
    assert await left(owner) == (0, 0)


@pytest.mark.parametrize("decision", [CONFIRM, REJECT])
async def test_killed_before_its_commit_a_decision_counts_when_it_comes_again(
    owner: Owner, held: tuple[Load, TaskEndResult], monkeypatch: pytest.MonkeyPatch, decision: HoldDecision
) -> None:
    load, end = held

    async def decide_and_die(*args: Any) -> None:
        await decide_hold(*args)
        raise ConnectionError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(apply_module, "decide_hold", decide_and_die)
        with pytest.raises(ConnectionError):
            await owner.take([load.decided(decision)])
    assert end_of(await owner.take([load.end])) == end, "still held"
    [result] = [*await owner.take([load.decided(decision)]), *await owner.sweep()]
    assert (result.outcome, result.removed, result.kept) == (COMPLETED, *((30, 0) if decision == CONFIRM else (0, 30)))


@pytest.mark.parametrize(("decision", "counts"), [(CONFIRM, (30, 0)), (REJECT, (0, 30))])
async def test_a_first_end_may_bring_the_decision(
    owner: Owner, goods: Goods, new_load: type[Load], decision: HoldDecision, counts: tuple[int, int]
) -> None:
    """A removed feed, an allowed load, and a load that is sent again because its owner has lost the decision."""
    await owner.load(new_load(goods(40), batch_size=100))
    end = end_of(await owner.load(new_load(goods(10), task=2, batch_size=100, decision=decision)))
    assert (end.outcome, end.removed, end.kept) == (COMPLETED, *counts)
    # An allowed loss does not count against the next load; a rejected loss does.
    end = end_of(await owner.load(new_load(goods(9), task=3, batch_size=100)))
    assert end.outcome == (COMPLETED if decision == CONFIRM else HELD)


async def test_a_decision_that_comes_before_the_sweep_is_planned_counts(
    owner: Owner, goods: Goods, new_load: type[Load]
) -> None:
    await owner.load(new_load(goods(40), batch_size=100))
    load = new_load(goods(10), task=2, batch_size=100)
    await owner.take([*load.messages, load.decided(REJECT)])
    [end] = await owner.sweep()
    assert (end.outcome, end.kept) == (COMPLETED, 30)


async def test_a_load_without_any_offer_is_held_however_small(owner: Owner, goods: Goods, new_load: type[Load]) -> None:
    await owner.load(new_load(goods(3)))
    end = end_of(await owner.load(new_load([], task=2)))
    assert (end.outcome, list(end.hold.reasons), end.hold.removals) == (HELD, [HOLD_REASON_NO_OFFERS], 3)
    assert len(await owner.alive()) == 3


@pytest.mark.parametrize(
    ("offers", "stay", "fields", "outcome"),
    [
        (19, 1, {}, COMPLETED),
        (40, 20, {}, COMPLETED),
        (40, 19, {}, HELD),
        (40, 10, {"disposition": DISPOSITION_MAKE_MANUAL}, COMPLETED),
        (40, 0, {"disposition": DISPOSITION_MAKE_MANUAL}, COMPLETED),
        (40, 0, {"decision": CONFIRM}, COMPLETED),
    ],
)
async def test_what_is_held(
    owner: Owner,
    goods: Goods,
    new_load: type[Load],
    offers: int,
    stay: int,
    fields: dict[str, Any],
    outcome: TaskEndOutcome,
) -> None:
    await owner.load(new_load(goods(offers), batch_size=100))
    end = end_of(await owner.load(new_load(goods(stay), task=2, batch_size=100, **fields)))
    assert end.outcome == outcome
    manual = "disposition" in fields
    assert len(await owner.alive()) == (offers if manual or outcome == HELD else stay)


async def test_an_offer_with_errors_is_present(
    owner: Owner, goods: Goods, new_load: type[Load], records: Records
) -> None:
    await owner.load(new_load(goods(40), batch_size=100))
    file = [records.broken(f"{number:02}") for number in range(40)]
    assert end_of(await owner.load(new_load(file, task=2, batch_size=100))).outcome == COMPLETED
    assert await owner.alive() == ALL


async def age(owner: Owner, days: int) -> None:
    """Move the sizes back by a number of days."""
    async with owner.database.transaction() as tx:
        await tx.execute("UPDATE namespace_sizes SET day = day - %s", (days,))


@pytest.mark.parametrize(("days", "outcome"), [(0, HELD), (6, HELD), (7, COMPLETED)])
async def test_half_and_half_again_is_held_within_a_week(
    owner: Owner, goods: Goods, new_load: type[Load], days: int, outcome: TaskEndOutcome
) -> None:
    await owner.load(new_load(goods(100), batch_size=100))
    assert end_of(await owner.load(new_load(goods(51), task=2, batch_size=100))).removed == 49
    await age(owner, days)
    end = end_of(await owner.load(new_load(goods(26), task=3, batch_size=100)))
    assert end.outcome == outcome
    if outcome == HELD:
        assert (end.hold.removals, end.hold.offers) == (25, 100)
        [end] = [
            *await owner.take([new_load(goods(26), task=3, batch_size=100).decided(CONFIRM)]),
            *await owner.sweep(),
        ]
        assert (end.outcome, end.removed) == (COMPLETED, 25)
        # A confirmed loss restarts the week: an ordinary loss is not measured against the size before it.
        assert end_of(await owner.load(new_load(goods(24), task=4, batch_size=100))).removed == 2


@pytest.mark.parametrize(
    ("rename", "pair"),
    [
        (lambda name: f"a{name}", ("00", "a00")),
        (lambda name: f"SKU-0{name}", ("00", "SKU-000")),
        (lambda name: f"0{name}", ("00", "000")),
        (lambda name: f"other{int(name) + 500}", ("00", "other500")),
    ],
    ids=["letter", "prefix", "zeros", "by content"],
)
async def test_ids_that_changed_their_shape_are_told(
    owner: Owner,
    goods: Goods,
    new_load: type[Load],
    records: Records,
    rename: Callable[[str], str],
    pair: tuple[str, str],
) -> None:
    await owner.load(new_load(goods(40), batch_size=100))
    by_content = pair[1] == "other500"
    file = [
        records.good(rename(f"{number:02}"), f"offer {number:02}" if by_content else f"new {number}")
        for number in range(40)
    ]
    hold = end_of(await owner.load(new_load(file, task=2, batch_size=100))).hold
    assert (hold.removals, hold.renamed, (hold.renamed_from, hold.renamed_to)) == (40, 40, pair)


async def test_ids_that_changed_stay_held_load_after_load(
    owner: Owner, goods: Goods, new_load: type[Load], records: Records
) -> None:
    """Offers from a held or rejected load must not replace the offers that it lacked."""
    await owner.load(new_load(goods(40), batch_size=100))

    def changed(task: int, name: str) -> Load:
        return new_load(
            [records.good(f"n{number}", f"{name} {number}") for number in range(50)], task=task, batch_size=100
        )

    for task, name in ((2, "lamp"), (3, "lamp"), (4, "table")):
        end = end_of(await owner.load(changed(task, name)))
        assert (end.outcome, end.hold.removals, end.hold.offers) == (HELD, 40, 40)
    [rejected] = await owner.take([changed(4, "table").decided(REJECT)])
    assert rejected.kept == 40
    end = end_of(await owner.load(changed(5, "chair")))
    assert (end.outcome, end.hold.removals) == (HELD, 40)
    # The old file again: the new offers are removed without a decision, because no load with them was accepted.
    end = end_of(await owner.load(new_load(goods(40), task=6, batch_size=100)))
    assert (end.outcome, end.removed, await owner.alive()) == (COMPLETED, 50, ALL)

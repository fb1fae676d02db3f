"""Loads that would change too much: no wrong price is shown before a decision."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_MAKE_MANUAL,
    HOLD_REASON_PRICES,
    HOLD_REASON_REMOVALS,
    HOLD_REASON_UNAVAILABLE,
    LOAD_MODE_PATCH,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_ALLOW_CHANGES,
    HOLD_DECISION_ALLOW_REMOVALS,
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_HELD,
    TASK_END_OUTCOME_INCOMPLETE,
    TASK_END_OUTCOME_STALE,
    OfferBatchResult,
    TaskEndOutcome,
    TaskEndResult,
)
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_jobs import JobStore
from classifeed_offers.app.clean_up import offers_clean_up
from classifeed_offers.app.loads import apply_requests as apply_module
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.domain.offers import hash_of
from classifeed_offers.jobs.sweep import SweepJobs
from classifeed_offers.store import waiting as waiting_store

from ...conftest import Load, Owner, Records, Results

CONFIRM, REJECT = HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT
COMPLETED, HELD, STALE = TASK_END_OUTCOME_COMPLETED, TASK_END_OUTCOME_HELD, TASK_END_OUTCOME_STALE
IDS = [f"{number:02}" for number in range(40)]
NO_CHANGES: Mapping[int, int] = {}

MakeFile = Callable[..., Load]


def end_of(results: Results) -> TaskEndResult:
    (end,) = [result for result in results if isinstance(result, TaskEndResult)]
    return end


def counts_of(results: Results) -> dict[str, int]:
    """Return the counts of all batches plus those of the end, as the sender adds them up."""
    counts: dict[str, int] = {}
    for result in results:
        if isinstance(result, OfferBatchResult):
            for field, count in result.counts.ListFields():
                counts[field.name] = counts.get(field.name, 0) + count
        elif result.changed:
            counts["skipped"] -= result.changed
            counts["updated"] = counts.get("updated", 0) + result.changed
    return {name: count for name, count in counts.items() if count}


@pytest.fixture
def file(records: Records, new_load: type[Load]) -> MakeFile:
    """Return a load of up to 40 offers of one price; given numbers have another price, none, or are unavailable."""

    def make(
        task: int,
        price: int = 100,
        changes: Mapping[int, int] = NO_CHANGES,
        *,
        offers: int = 40,
        unavailable: Container[int] = (),
        currency: str = "RUB",
        unpriced: Container[int] = (),
        **options: Any,
    ) -> Load:
        prices = dict.fromkeys(range(40), price) | dict(changes)
        made = [records.good(f"{number:02}", price=price) for number, price in prices.items()]
        for number, record in enumerate(made):
            record.content.price.currency_code = currency
            if number in unpriced:
                record.content.ClearField("price")
            record.content.available = number not in unavailable
            record.content_hash = hash_of(record.content)
        return new_load(made[:offers], task=task, batch_size=8, **options)

    return make


async def prices(owner: Owner) -> list[int]:
    rows = await owner.rows()
    return [rows[name][3] for name in sorted(rows) if rows[name][0] != "REMOVED"]


async def waiting(owner: Owner) -> int:
    async with owner.database.transaction() as tx:
        [row] = await (await tx.execute("SELECT count(*) FROM waiting_changes")).fetchall()
    return int(row[0])


@pytest.fixture
async def held(owner: Owner, file: MakeFile) -> tuple[Load, Results]:
    """40 offers at 100, and a load that is held because all of them cost 1,000."""
    await owner.load(file(1))
    load = file(2, price=1000)
    results = await owner.load(load)
    assert end_of(results).outcome == HELD
    return load, results


async def test_prices_times_ten_wait_and_are_told(owner: Owner, held: tuple[Load, Results]) -> None:
    load, results = held
    assert await prices(owner) == [100] * 40
    assert counts_of(results) == {"skipped": 40}
    hold = end_of(results).hold
    assert list(hold.reasons) == [HOLD_REASON_PRICES]
    assert (hold.changes, hold.moved_prices, hold.changed_prices, hold.price_ratio) == (40, 40, 40, 10)
    assert [it.external_id for it in hold.sample_prices] == IDS[:10]
    first = hold.sample_prices[0]
    assert (first.title, first.price.amount_micros, first.new_price.amount_micros) == ("offer 00", 10**8, 10**9)
    assert (hold.removals, hold.turned_unavailable) == (0, 0)
    again = await owner.take(load.messages)
    assert (counts_of(again), end_of(again)) == ({"skipped": 40}, end_of(results)), "and again the same"
    assert (owner.sweeps, await prices(owner)) == ([], [100] * 40)


@pytest.mark.parametrize("at_once_offers", [0, 300], ids=["job", "at once"])
@pytest.mark.parametrize(("decision", "changed", "price"), [(CONFIRM, 40, 1000), (REJECT, 0, 100)])
async def test_the_first_decision_counts(
    owner: Owner,
    held: tuple[Load, Results],
    file: MakeFile,
    at_once_offers: int,
    decision: HoldDecision,
    changed: int,
    price: int,
) -> None:
    load, _ = held
    sweeps = SweepJobs(JobStore(), guard=Guard(), at_once_offers=300) if at_once_offers else owner

    async def take(*requests: TaskEnd) -> Results:
        async with owner.database.transaction() as tx:
            results = await apply_module.apply_requests(
                tx, list(requests), moderation=ApprovedBySetting(), sweeps=sweeps, guard=Guard()
            )
        return [*results, *await owner.sweep()]

    other = REJECT if decision == CONFIRM else CONFIRM
    results = await take(load.decided(decision), load.decided(decision), load.decided(other))
    assert {(it.outcome, it.changed, it.dropped) for it in results} == {(COMPLETED, changed, 40 - changed)}
    assert await prices(owner) == [price] * 40
    for again in (load.end, load.decided(decision), load.decided(other)):
        assert await take(again) == results[:1]
    versions = [row[6] for row in (await owner.rows()).values()]
    assert counts_of(await owner.take(load.batches)) == {"skipped": 40}
    assert [row[6] for row in (await owner.rows()).values()] == versions, "nothing is written twice"
    # A rejected change is compared again; a confirmed one is what the next load finds.
    next_end = end_of(await owner.load(file(3, price=1000)))
    assert next_end.outcome == (COMPLETED if decision == CONFIRM else HELD)


async def test_a_made_change_is_one_like_any_other(owner: Owner, held: tuple[Load, Results]) -> None:
    load, _ = held
    before = await owner.rows()
    await owner.take([load.decided(CONFIRM)])
    await owner.sweep()
    for name, row in (await owner.rows()).items():
        assert row[:6] == ("ACTIVE", "FEED", f"offer {name}", 1000, 2, "UPDATED")
        assert row[6] > before[name][6]
    async with owner.database.transaction() as tx:
        [row] = await (await tx.execute("SELECT count(*) FROM offers WHERE version > published_version")).fetchall()
    assert row == (40,)


async def test_an_ordinary_load_makes_its_few_far_changes_at_the_end(owner: Owner, file: MakeFile) -> None:
    await owner.load(file(1))
    load = file(2, price=110, changes={3: 1000, 4: 20})
    results = await owner.take(load.messages)
    assert (await prices(owner)).count(110) == 38, "the rest is seen at once"
    assert (await prices(owner))[3:5] == [100, 100]
    results += await owner.sweep()
    assert (await prices(owner))[3:5] == [1000, 20]
    assert (counts_of(results), end_of(results).outcome) == ({"updated": 40}, COMPLETED)
    assert end_of(await owner.take(load.messages)) == end_of(results)
    assert await waiting(owner) == 0


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        (dict.fromkeys(range(21), 500), HELD),
        (dict.fromkeys(range(21), 20), HELD),
        ({number: 500 if number % 2 else 20 for number in range(21)}, HELD),
        (dict.fromkeys(range(21), 0), HELD),
        (dict.fromkeys(range(40), 499), COMPLETED),
        (dict.fromkeys(range(40), 21), COMPLETED),
        # Fewer than 20 prices change, by any factor.
        (dict.fromkeys(range(19), 1000), COMPLETED),
        (dict.fromkeys(range(20), 1000), HELD),
        # Half of them change by a large factor, half do not.
        ({number: 1000 if number < 20 else 101 for number in range(40)}, COMPLETED),
        ({number: 1000 if number < 21 else 101 for number in range(40)}, HELD),
    ],
)
async def test_the_median_of_the_changed_prices_decides(
    owner: Owner, file: MakeFile, changes: Mapping[int, int], outcome: TaskEndOutcome
) -> None:
    await owner.load(file(1))
    results = await owner.load(file(2, changes=changes))
    assert end_of(results).outcome == outcome
    expected = {number: price for number, price in changes.items() if outcome == COMPLETED or 20 < price < 500}
    assert await prices(owner) == [expected.get(number, 100) for number in range(40)]


async def test_another_currency_and_a_first_price_are_nothing_to_compare(owner: Owner, file: MakeFile) -> None:
    await owner.load(file(1, unpriced=range(20)))
    assert end_of(await owner.load(file(2, price=7000, unpriced=range(20, 40)))).outcome == HELD, "20 go away"
    assert await prices(owner) == [7000] * 20 + [100] * 20
    assert end_of(await owner.load(file(3, price=70, currency="USD"))).outcome == COMPLETED
    assert await prices(owner) == [70] * 40


async def test_prices_that_go_away_are_told_so(owner: Owner, file: MakeFile) -> None:
    await owner.load(file(1))
    hold = end_of(await owner.load(file(2, unpriced=range(40)))).hold
    assert (list(hold.reasons), hold.price_ratio) == ([HOLD_REASON_PRICES], 0)
    assert not hold.sample_prices[0].HasField("new_price")


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (range(0), range(40), HELD),
        (range(20), range(40), HELD),
        # Fewer than 20 were available.
        (range(21), range(40), COMPLETED),
        # One stays available.
        (range(0), range(39), COMPLETED),
        (range(0), range(1, 40), COMPLETED),
    ],
)
async def test_nothing_available_any_more(
    owner: Owner, file: MakeFile, before: range, after: range, outcome: TaskEndOutcome
) -> None:
    await owner.load(file(1, unavailable=before))
    results = await owner.load(file(2, unavailable=after))
    assert end_of(results).outcome == outcome
    turned = 40 - len(before)
    if outcome == HELD:
        hold = end_of(results).hold
        assert list(hold.reasons) == [HOLD_REASON_UNAVAILABLE]
        assert (hold.changes, hold.turned_unavailable, hold.moved_prices) == (turned, turned, 0)
        assert await available(owner) == turned
        await owner.take([file(2, unavailable=after).decided(CONFIRM)])
        await owner.sweep()
    assert await available(owner) == 40 - len(after)


async def available(owner: Owner) -> int:
    async with owner.database.transaction() as tx:
        rows = await (await tx.execute("SELECT content FROM offers")).fetchall()
    return sum(OfferContent.FromString(content).available for (content,) in rows)


async def test_prices_are_counted_among_all_that_become_unavailable(owner: Owner, file: MakeFile) -> None:
    """A change that is set aside for another reason also counts as a price change: three of forty are not most."""
    await owner.load(file(1))
    load = file(2, price=110, changes=dict.fromkeys(range(3), 1000), unavailable=range(40))
    hold = end_of(await owner.load(load)).hold
    assert list(hold.reasons) == [HOLD_REASON_UNAVAILABLE]
    assert (hold.changes, hold.moved_prices, hold.changed_prices) == (40, 3, 40)


async def test_removals_and_changes_are_decided_about_together(owner: Owner, file: MakeFile) -> None:
    await owner.load(file(1))
    load = file(2, price=1000, offers=10)
    hold = end_of(await owner.load(load)).hold
    assert list(hold.reasons) == [HOLD_REASON_REMOVALS], "fewer than 20 prices are no reason"
    assert (hold.removals, hold.changes) == (30, 10)
    [end] = await owner.take([load.decided(REJECT)])
    assert (end.kept, end.dropped, await prices(owner)) == (30, 10, [100] * 40)
    load = file(3, price=1000, offers=38)
    hold = end_of(await owner.load(load)).hold
    assert (list(hold.reasons), hold.removals, hold.changes) == ([HOLD_REASON_PRICES], 2, 38)
    assert len(await prices(owner)) == 40, "a few removals wait with it"
    await owner.take([load.decided(CONFIRM)])
    [end] = await owner.sweep()
    assert (end.removed, end.changed, await prices(owner)) == (2, 38, [1000] * 38)


@pytest.mark.parametrize(
    ("decision", "price", "offers", "outcome"),
    [
        (HOLD_DECISION_ALLOW_CHANGES, 1000, 40, COMPLETED),
        (HOLD_DECISION_ALLOW_CHANGES, 100, 5, HELD),
        (HOLD_DECISION_ALLOW_REMOVALS, 1000, 40, HELD),
        (HOLD_DECISION_ALLOW_REMOVALS, 100, 5, COMPLETED),
        (CONFIRM, 1000, 15, COMPLETED),
    ],
)
async def test_what_was_allowed_beforehand_is_no_reason(
    owner: Owner, file: MakeFile, decision: HoldDecision, price: int, offers: int, outcome: TaskEndOutcome
) -> None:
    await owner.load(file(1))
    load = file(2, price=price, offers=offers, decision=decision)
    end = end_of(await owner.load(load))
    assert end.outcome == outcome
    if outcome == HELD:
        assert end_of(await owner.take([load.end])).outcome == HELD
        [end] = await owner.take([load.decided(REJECT)])
        assert (end.outcome, await prices(owner)) == (COMPLETED, [100] * 40)


async def test_a_patch_and_what_is_kept_by_hand_are_not_compared(
    owner: Owner, file: MakeFile, records: Records, new_load: type[Load]
) -> None:
    await owner.load(file(1))
    patch = new_load([records.patch(name, 1000) for name in IDS], 2, mode=LOAD_MODE_PATCH, batch_size=100)
    assert end_of(await owner.load(patch)).outcome == COMPLETED
    assert await prices(owner) == [1000] * 40
    await owner.load(new_load([], 3, disposition=DISPOSITION_MAKE_MANUAL))
    assert end_of(await owner.load(file(4))).outcome == COMPLETED
    assert await prices(owner) == [100] * 40


async def test_loads_that_keep_by_hand_what_they_lack_are_held_for_prices_alone(owner: Owner, file: MakeFile) -> None:
    await owner.load(file(1))
    load = file(2, price=1000, offers=30, disposition=DISPOSITION_MAKE_MANUAL)
    hold = end_of(await owner.load(load)).hold
    assert (list(hold.reasons), hold.removals, hold.changes) == ([HOLD_REASON_PRICES], 0, 30)


@pytest.mark.parametrize(
    ("guard", "load"),
    [
        (Guard(price_factor=0), {"price": 1000}),
        (Guard(holds_unavailable=False), {"unavailable": range(40)}),
        (Guard(price_factor=20), {"price": 1000}),
        (Guard(least_offers=50), {"price": 1000, "unavailable": range(40)}),
        (Guard(price_factor=0, holds_unavailable=False), {"price": 1000, "unavailable": range(40)}),
    ],
)
async def test_settings(owner: Owner, file: MakeFile, guard: Guard, load: dict[str, Any]) -> None:
    await owner.load(file(1))
    owner.guard = guard
    assert end_of(await owner.load(file(2, **load))).outcome == COMPLETED
    assert await waiting(owner) == 0


@pytest.mark.parametrize("decision", [CONFIRM, REJECT])
async def test_a_newer_load_takes_the_place_of_what_waits(
    owner: Owner, held: tuple[Load, Results], file: MakeFile, decision: HoldDecision
) -> None:
    load, _ = held
    newer = file(3, price=130, changes={0: 1000, 1: 100})
    await owner.take(newer.batches)
    [result] = [*await owner.take([load.decided(decision)]), *await owner.sweep()]
    assert result.outcome == STALE
    results = [*await owner.take([newer.end]), *await owner.sweep()]
    assert (end_of(results).outcome, end_of(results).changed) == (COMPLETED, 1)
    assert await prices(owner) == [1000, 100] + [130] * 38
    assert end_of([*await owner.take([load.decided(CONFIRM)]), *await owner.sweep()]).outcome == STALE
    assert await prices(owner) == [1000, 100] + [130] * 38


async def test_an_offer_that_a_poll_brings_may_wait_in_the_same_poll(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    newer = new_load([records.good("a", price=1000)], task=2)
    await owner.take([*new_load([records.good("a")]).batches, *newer.messages])
    assert await prices(owner) == [100]
    [end] = await owner.sweep()
    assert (end.changed, end.dropped, await prices(owner)) == (1, 0, [1000])


async def test_changes_under_way_give_way_to_a_newer_load(
    owner: Owner, held: tuple[Load, Results], file: MakeFile
) -> None:
    load, _ = held
    await owner.take([load.decided(CONFIRM)])
    [run] = owner.sweeps
    assert (await owner.step(run, slice_offers=10)).more
    await owner.take(file(3).batches)
    assert [it.outcome for it in await owner.sweep()] == [STALE]
    assert await prices(owner) == [1000] * 10 + [100] * 30, "the far way back waits for the end of the newer one"
    await owner.take([file(3).end])
    [end] = await owner.sweep()
    assert (end.outcome, end.changed, await prices(owner)) == (COMPLETED, 10, [100] * 40)


async def test_killed_between_two_slices_the_rest_is_made_once(
    owner: Owner, held: tuple[Load, Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    load, _ = held
    await owner.take([load.decided(CONFIRM)])
    [run] = owner.sweeps
    await owner.step(run, slice_offers=15)
    real = waiting_store.make_changes

    async def make_and_die(*args: Any) -> None:
        await real(*args)
        raise ConnectionError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(waiting_store, "make_changes", make_and_die)
        with pytest.raises(ConnectionError):
            await owner.step(run, slice_offers=15)
    assert (await prices(owner)).count(1000) == 15
    versions = {name: row[6] for name, row in (await owner.rows()).items() if row[3] == 1000}
    [end] = await owner.sweep()
    assert (end.changed, end.dropped, await prices(owner)) == (40, 0, [1000] * 40)
    rows = await owner.rows()
    assert {name: rows[name][6] for name in versions} == versions


async def test_an_ordinary_load_that_runs_again_is_no_more_held_than_at_first(owner: Owner, file: MakeFile) -> None:
    """A later run finds the ordinary changes made; without them, all of its changes would be large."""
    await owner.load(file(1))
    owner.guard = Guard(least_offers=10)
    changes = dict.fromkeys(range(25), 110) | dict.fromkeys(range(25, 40), 1000)
    for run in (1, 2):
        await owner.take(file(2, changes=changes, run=run).batches)
    results = await owner.load(file(2, changes=changes, run=3))
    assert (end_of(results).outcome, end_of(results).changed) == (COMPLETED, 15)
    assert counts_of(results) == {"updated": 40}


async def test_an_owner_that_lost_the_run_takes_it_anew_with_the_decision(
    owner: Owner, held: tuple[Load, Results], file: MakeFile
) -> None:
    load, _ = held
    async with owner.database.transaction() as tx:  # a restore from before the load
        for table in ("applied_batches", "task_ends", "waiting_changes"):
            await tx.execute(f"DELETE FROM {table} WHERE task_id = 2")
        await tx.execute("UPDATE task_heads SET task_id = 1")
    [end] = [*await owner.take([load.decided(CONFIRM)]), *await owner.sweep()]
    assert end.outcome == TASK_END_OUTCOME_INCOMPLETE
    results = await owner.load(file(2, price=1000, run=2, decision=CONFIRM))
    assert (end_of(results).changed, counts_of(results)) == (40, {"updated": 40})
    assert await prices(owner) == [1000] * 40


async def test_an_offer_that_has_become_another_meanwhile_stays(owner: Owner, held: tuple[Load, Results]) -> None:
    load, _ = held
    async with owner.database.transaction() as tx:
        for change in (
            "UPDATE offers SET origin = 'MANUAL' WHERE external_id = '00'",
            "UPDATE offers SET status = 'REMOVED' WHERE external_id = '01'",
            "UPDATE offers SET status = 'BANNED' WHERE external_id = '02'",
            "UPDATE offers SET content_hash = decode(repeat('00', 16), 'hex') WHERE external_id = '03'",
            "DELETE FROM offers WHERE external_id = '04'",
        ):
            await tx.execute(change)
    await owner.take([load.decided(CONFIRM)])
    [end] = await owner.sweep()
    assert (end.changed, end.dropped) == (35, 5)
    rows = await owner.rows()
    assert [rows[name][3] for name in IDS[:4]] == [100] * 4
    assert (rows["01"][0], rows["02"][0]) == ("REMOVED", "BANNED")
    assert end_of(await owner.take([load.end])) == end


async def test_a_held_load_of_many_offers_takes_bounded_steps(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    made = [records.good(f"{number:04}") for number in range(2500)]
    await owner.load(new_load(made, batch_size=100))
    load = new_load([records.good(f"{number:04}", price=1000) for number in range(2500)], 2, batch_size=100)
    assert end_of(await owner.load(load)).outcome == HELD
    await owner.take([load.decided(CONFIRM)])
    [run] = owner.sweeps
    done = []
    while (await owner.step(run)).more:
        done.append((await prices(owner)).count(1000))
    assert done == [1000, 2000, 2500]


async def test_what_nobody_waits_for_is_cleaned_up(
    owner: Owner, held: tuple[Load, Results], file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, _ = held
    clean_up = offers_clean_up(history_days=30, removed_days=45)
    async with owner.database.transaction() as tx:
        [[now]] = await (await tx.execute("SELECT clock_timestamp()")).fetchall()
    await clean_up.run(owner.database, now)
    assert await waiting(owner) == 40, "it waits for a decision"
    await owner.take([load.decided(REJECT)])
    monkeypatch.setattr("classifeed_offers.app.clean_up._ROWS", 15)
    await offers_clean_up(history_days=30, removed_days=45).run(owner.database, now)
    assert await waiting(owner) == 0
    await owner.load(file(3, price=1000))
    newer = file(4)
    await owner.take(newer.batches[:1])
    assert await waiting(owner) == 40
    await offers_clean_up(history_days=30, removed_days=45).run(owner.database, now)
    assert await waiting(owner) == 0
    assert end_of([*await owner.take(newer.messages), *await owner.sweep()]).outcome == COMPLETED


async def test_undecided_is_no_decision(owner: Owner, held: tuple[Load, Results]) -> None:
    load, results = held
    assert load.end.decision == HOLD_DECISION_UNSPECIFIED
    assert end_of(await owner.take([load.decided(HOLD_DECISION_ALLOW_CHANGES)])) == end_of(results)

"""Loads against the real tables: counts, each batch once, and runs and tasks that supersede each other."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_DELETE,
    DISPOSITION_MAKE_MANUAL,
    ISSUE_LEVEL_WARNING,
    LOAD_MODE_PATCH,
    LOAD_MODE_REPLACE,
    Disposition,
    LoadMode,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_CONFIRM,
    RECORD_KIND_OFFER,
    OfferBatch,
    RunCheck,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    BATCH_OUTCOME_REFUSED,
    BATCH_OUTCOME_STALE,
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_INCOMPLETE,
    TASK_END_OUTCOME_STALE,
    OfferBatchResult,
    OfferCounts,
    RunCheckResult,
    TaskEndResult,
)
from classifeed_common.db import Database
from classifeed_common.kafka import Poison, Record, message_of
from classifeed_common.outbox import Outbox
from classifeed_devkit.testing.texts import fill_texts, spoil_texts
from classifeed_jobs import JobStore
from classifeed_offers.app.loads.apply_requests import apply_requests
from classifeed_offers.consumers.requests import RequestHandler
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.jobs.sweep import QUEUE, SweepJobs

from ...conftest import Load, Owner, Records, Results


def counts_of(results: Results) -> dict[str, int]:
    total: dict[str, int] = {}
    for result in results:
        if isinstance(result, OfferBatchResult):
            for field, value in result.counts.ListFields():
                total[field.name] = total.get(field.name, 0) + value
    return total


def end_of(results: Results) -> TaskEndResult:
    (end,) = [result for result in results if isinstance(result, TaskEndResult)]
    return end


async def test_first_load_adds_everything_and_the_second_changes_only_what_differs(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    first = await owner.load(new_load([records.good(str(i)) for i in range(5)]))
    assert counts_of(first) == {"added": 5}
    assert [result.batch_id for result in first if isinstance(result, OfferBatchResult)] == [1, 2, 3]
    assert end_of(first).outcome == TASK_END_OUTCOME_COMPLETED
    before = await owner.rows()

    second = [records.good("0"), records.good("1", price=200), records.good("3"), records.good("new")]
    results = await owner.load(new_load(second, task=2))

    assert counts_of(results) == {"unchanged": 2, "updated": 1, "added": 1}
    assert (end_of(results).removed, end_of(results).made_manual) == (2, 0)
    rows = await owner.rows()
    assert await owner.alive() == {"0", "1", "3", "new"}
    assert rows["0"] == before["0"]
    assert rows["1"][3] == 200
    assert rows["1"][6] > before["1"][6]
    assert rows["2"][0] == "REMOVED"
    assert rows["2"][6] > before["2"][6]


async def test_unchanged_offers_are_never_written(owner: Owner, records: Records, new_load: type[Load]) -> None:
    offers = [records.good(str(i)) for i in range(300)]
    await owner.load(new_load(offers, batch_size=100))

    async def footprint() -> tuple[Any, list[tuple[Any, ...]]]:
        async with owner.database.connection() as connection:
            await connection.execute("SELECT pg_stat_force_next_flush()")
            stats = await (
                await connection.execute(
                    "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relname = 'offers'"
                )
            ).fetchone()
            rows = await (
                await connection.execute("SELECT xmin::text, ctid::text FROM offers ORDER BY offer_id")
            ).fetchall()
        return stats, rows

    # Statistics of the loading connection arrive once it has flushed them.
    async with owner.database.transaction() as tx:
        await tx.execute("SELECT pg_stat_force_next_flush()")
    before = await footprint()
    results = await owner.load(new_load(offers, task=2, batch_size=100))
    rerun = await owner.load(new_load(offers, task=2, run=2, batch_size=100))
    async with owner.database.transaction() as tx:
        await tx.execute("SELECT pg_stat_force_next_flush()")

    assert counts_of(results) == {"unchanged": 300}
    assert counts_of(rerun) == {"unchanged": 300}
    assert before[0][0] == 300
    assert await footprint() == before


async def test_every_kind_of_record_is_counted_once(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.load(new_load([records.good("a"), records.good("b"), records.good("c")]))
    load = new_load(
        [
            records.broken("a"),
            records.broken("unknown"),
            records.kept("b"),
            records.kept("unknown too"),
            records.duplicate(5),
            records.unidentified(6),
            records.good("d"),
        ],
        task=2,
        batch_size=100,
    )
    results = await owner.load(load)

    assert results[0].counts == OfferCounts(
        added=1, unchanged=1, rejected_validation=3, skipped=1, duplicates=1, rejected_existing=1
    )
    assert {(error.external_id, error.code) for error in results[0].errors} == {
        ("a", "PRICE_INVALID"),
        ("unknown", "PRICE_INVALID"),
        ("unknown too", "SKIPPED_TILL_NEXT_LOAD"),
    }
    # The load has an invalid offer and one to keep: both stay unchanged. It lacks only c.
    assert await owner.alive() == {"a", "b", "d"}
    assert end_of(results).removed == 1


async def test_what_is_sent_again_changes_nothing_and_gets_the_same_results(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    """As after lost results, even once a newer load owns the namespace."""
    load = new_load([records.good("a"), records.broken("b"), records.kept("c"), records.good("d"), records.good("e")])
    results = await owner.load(load)
    assert counts_of(results) == {"added": 3, "rejected_validation": 1, "skipped": 1}
    assert [error.code for result in results[:-1] for error in result.errors] == [
        "PRICE_INVALID",
        "SKIPPED_TILL_NEXT_LOAD",
    ]
    await owner.load(new_load([records.good("z")], task=2))
    before = await owner.rows()

    assert await owner.take([*load.messages, *load.messages]) == [*results, *results]
    assert await owner.rows() == before
    assert owner.sweeps == []


async def test_a_result_of_removals_is_the_same_again(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.load(new_load([records.good("a"), records.good("b")]))
    load = new_load([records.good("a")], task=2)
    results = await owner.load(load)
    assert end_of(results).removed == 1
    assert await owner.take(load.messages) == results


async def test_an_incomplete_end_is_the_same_again(owner: Owner, records: Records, new_load: type[Load]) -> None:
    load = new_load([records.good("a"), records.good("b")], batch_size=1)
    results = await owner.take([load.batches[0], load.end])
    assert list(end_of(results).missing_batches) == [2]
    assert await owner.take([load.end]) == results[1:]


async def test_a_duplicate_within_a_poll_gets_its_result_too(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    load = new_load([records.good("a"), records.good("b")])
    results = await owner.take([*load.batches, *load.messages, load.end])
    assert [result.counts.added for result in results] == [2, 2]
    assert len(owner.sweeps) == 1


async def test_other_content_under_the_same_numbers_is_refused(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    """As from a sender whose database was restored and repeats numbers: nothing is applied, and nobody waits."""
    await owner.load(new_load([records.good("a"), records.good("b")]))
    before = await owner.rows()
    other = new_load([records.good("x"), records.good("y")])

    batch, end = await owner.take(other.messages)

    assert (batch.outcome, end.outcome) == (BATCH_OUTCOME_REFUSED, TASK_END_OUTCOME_INCOMPLETE)
    assert "other content" in batch.reason
    assert await owner.rows() == before


async def test_results_that_were_not_kept_are_refused(owner: Owner, records: Records, new_load: type[Load]) -> None:
    """Rows from before results were kept: the run must be sent again under a higher number."""
    load = new_load([records.good("a")])
    await owner.load(load)
    async with owner.database.transaction() as tx:
        await tx.execute("UPDATE applied_batches SET result = NULL")
        await tx.execute("UPDATE task_ends SET digest = NULL")
    batch, end = await owner.take(load.messages)
    assert (batch.outcome, end.outcome) == (BATCH_OUTCOME_REFUSED, TASK_END_OUTCOME_COMPLETED)


async def test_a_check_gets_its_reply_in_its_place(owner: Owner, records: Records, new_load: type[Load]) -> None:
    load = new_load([records.good("a"), records.good("b")], batch_size=1)
    check = RunCheck(**load.address, last_batch_id=1)
    first, reply, second, _ = await owner.take([load.batches[0], check, load.batches[1], load.batches[1]])
    assert (first.batch_id, second.batch_id) == (1, 2)
    assert reply == RunCheckResult(**load.address, last_batch_id=1)


async def test_a_sweep_that_was_ended_before_its_time_begins_again_when_the_end_is_repeated(
    database: Database, records: Records, new_load: type[Load]
) -> None:
    store = JobStore()
    load = new_load([records.good("a")])

    async def take() -> None:
        async with database.transaction() as tx:
            sweeps = SweepJobs(store, guard=Guard())
            await apply_requests(tx, load.messages, moderation=ApprovedBySetting(), sweeps=sweeps, guard=Guard())

    async def jobs() -> list[str]:
        async with database.transaction() as tx:
            return sorted(job.status for job in await store.list_jobs(tx, queue=QUEUE))

    await take()
    await take()
    assert await jobs() == ["queued"]
    for _ in range(2):
        async with database.transaction() as tx:
            for job in await store.list_jobs(tx, queue=QUEUE, status="queued"):
                await store.cancel(tx, job.job_id)
        assert "queued" not in await jobs()
        await take()
        await take()
        assert (await jobs()).count("queued") == 1


async def test_a_run_below_the_head_is_stale(owner: Owner, records: Records, new_load: type[Load]) -> None:
    old = new_load([records.good("a", price=1), records.good("b", price=1)], batch_size=1)
    new = new_load([records.good("a", price=2)], run=2, batch_size=1)
    await owner.take(old.batches[:1])
    await owner.take(new.batches[:1])

    results = await owner.take([*old.batches[1:], old.end])

    assert [result.outcome for result in results] == [BATCH_OUTCOME_STALE, TASK_END_OUTCOME_STALE]
    assert owner.sweeps == []
    assert await owner.alive() == {"a"}
    # Added by this task's first run, changed by its second: for the task, it counts as added.
    assert (await owner.rows())["a"][3:6] == (2, 1, "ADDED")


async def test_what_is_stale_or_repeated_is_one_debug_line_with_its_key(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    old = new_load([records.good("a"), records.good("b")], batch_size=1)
    await owner.take(old.batches[:1])
    await owner.take(new_load([records.good("a", price=2)], run=2).batches)
    with capture_logs() as logs:
        await owner.take(old.batches)
    assert [(line["log_level"], line["event"], line["run"], line["batch"], line["why"]) for line in logs] == [
        ("debug", "offers.request.skipped", 1, 1, "repeated"),
        ("debug", "offers.request.skipped", 1, 2, "stale"),
    ]


async def test_a_batch_after_the_end_of_its_run_is_stale(owner: Owner, records: Records, new_load: type[Load]) -> None:
    load = new_load([records.good("a"), records.good("b")], batch_size=1)
    await owner.take([load.batches[0], load.end])
    (result,) = await owner.take([load.batches[1]])
    assert result.outcome == BATCH_OUTCOME_STALE
    assert await owner.alive() == {"a"}


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_a_missing_batch_ends_the_run_incomplete_and_removes_nothing(
    owner: Owner, records: Records, new_load: type[Load], lost: int
) -> None:
    await owner.load(new_load([records.good("old")]))
    load = new_load([records.good(str(i)) for i in range(3)], task=2, batch_size=1)
    del load.batches[lost]

    results = await owner.load(load)

    assert end_of(results).outcome == TASK_END_OUTCOME_INCOMPLETE
    assert list(end_of(results).missing_batches) == [lost + 1]
    assert "old" in await owner.alive()


async def test_a_batch_of_other_content_ends_the_run_incomplete(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("old")]))
    load = new_load([records.good("a"), records.good("b")], task=2, batch_size=1)
    other = new_load([records.good("a"), records.good("c")], task=2, batch_size=1)

    load.batches[1] = other.batches[1]
    results = await owner.load(load)

    assert end_of(results).outcome == TASK_END_OUTCOME_INCOMPLETE
    assert list(end_of(results).missing_batches) == []
    assert "old" in await owner.alive()


async def test_a_run_after_a_crash_counts_what_its_earlier_run_did(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("same"), records.good("changes"), records.good("goes")]))
    file = [records.good("same"), records.good("changes", price=50), records.good("comes")]
    first = new_load(file, task=2, batch_size=1)
    await owner.take(first.batches)  # its end is lost

    results = await owner.load(new_load(file, task=2, run=2, batch_size=1))

    assert counts_of(results) == {"unchanged": 1, "updated": 1, "added": 1}
    assert end_of(results).removed == 1


async def test_a_run_after_a_sweep_was_overtaken_counts_its_removals(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good(str(i)) for i in range(10)]))
    file = [records.good("0")]
    await owner.take(new_load(file, task=2).messages)
    (sweep,) = owner.sweeps
    for _ in range(3):  # a plan, and two slices of two
        assert (await owner.step(sweep, slice_offers=2)).more
    assert len(await owner.alive()) == 6

    rerun = new_load(file, task=2, run=2)
    taken = await owner.take(rerun.batches)
    overtaken = await owner.step(sweep)
    results = [*await owner.take([rerun.end]), *await owner.sweep()]

    assert overtaken.result is not None
    assert overtaken.result.outcome == TASK_END_OUTCOME_STALE
    assert counts_of(taken) == {"unchanged": 1}
    assert end_of(results).outcome == TASK_END_OUTCOME_COMPLETED
    assert end_of(results).removed == 9
    assert await owner.alive() == {"0"}


@pytest.mark.parametrize("disposition", [DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL])
async def test_a_run_without_batches_ends_the_whole_feed_and_nothing_else(
    owner: Owner, records: Records, new_load: type[Load], disposition: Disposition
) -> None:
    offers = [records.good(str(i)) for i in range(7)]
    ours = new_load(offers)
    others = [new_load(offers, namespace="other"), new_load(offers, seller="another")]
    for load in (ours, *others):
        await owner.load(load)
    kept = await owner.load(new_load(offers[:5], task=2, disposition=DISPOSITION_MAKE_MANUAL))
    assert end_of(kept).made_manual == 2
    before = [await owner.rows(load) for load in others]

    removal = new_load([], task=3, disposition=disposition, decision=HOLD_DECISION_CONFIRM)
    assert (removal.end.batch_count, removal.messages) == (0, [removal.end])
    end = end_of(await owner.load(removal))

    assert end.outcome == TASK_END_OUTCOME_COMPLETED
    removed = disposition == DISPOSITION_DELETE
    assert (end.removed, end.made_manual) == ((5, 0) if removed else (0, 5))
    rows = await owner.rows(ours)
    assert await owner.alive(ours) == ({"5", "6"} if removed else set("0123456"))
    assert {row[1] for name, row in rows.items() if name in {"5", "6"} or not removed} == {"MANUAL"}
    assert [await owner.rows(load) for load in others] == before


async def test_made_manual_offers_stay_and_are_taken_back(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.load(new_load([records.good("a"), records.good("b")]))
    kept = await owner.load(new_load([records.good("a")], task=2, disposition=DISPOSITION_MAKE_MANUAL))
    assert (end_of(kept).removed, end_of(kept).made_manual) == (0, 1)
    assert (await owner.rows())["b"][:2] == ("ACTIVE", "MANUAL")

    # A load without it does not change it, because the feed no longer owns it.
    without = await owner.load(new_load([records.good("a")], task=3))
    assert end_of(without).removed == 0
    assert (await owner.rows())["b"][:2] == ("ACTIVE", "MANUAL")

    back = await owner.load(new_load([records.good("a"), records.good("b")], task=4))
    assert counts_of(back) == {"unchanged": 1, "updated": 1}
    assert (await owner.rows())["b"][:2] == ("ACTIVE", "FEED")


async def test_an_offer_that_comes_back_is_added(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.load(new_load([records.good("a"), records.good("b")]))
    await owner.load(new_load([records.good("a")], task=2))
    removed = await owner.rows()
    results = await owner.load(new_load([records.good("a"), records.good("b")], task=3))
    assert counts_of(results) == {"unchanged": 1, "added": 1}
    rows = await owner.rows()
    assert rows["b"][0] == "ACTIVE"
    assert rows["b"][6] > removed["b"][6]


async def test_a_patch_changes_named_fields_of_existing_offers_only(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("a"), records.good("b"), records.good("c")]))
    patch = new_load(
        [records.patch("a", 70), records.patch("b", 100), records.patch("x", 70)],
        task=2,
        mode=LOAD_MODE_PATCH,
        batch_size=9,
    )
    results = await owner.load(patch)

    assert counts_of(results) == {"updated": 1, "unchanged": 1, "skipped": 1}
    assert [error.code for error in results[0].errors] == ["PATCH_UNKNOWN_OFFER"]
    assert end_of(results).outcome == TASK_END_OUTCOME_COMPLETED
    assert end_of(results).removed == 0
    rows = await owner.rows()
    assert set(rows) == {"a", "b", "c"}
    assert rows["a"][2:4] == ("offer a", 70)
    # The next full feed is a change again, although its hash is that of the load before.
    again = await owner.load(new_load([records.good("a"), records.good("b"), records.good("c")], task=3))
    assert counts_of(again) == {"updated": 1, "unchanged": 2}


async def test_namespaces_and_sellers_of_one_poll_are_apart(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    loads = [
        new_load([records.good("a", f"{seller} {namespace}")], seller=seller, namespace=namespace)
        for seller in ("s1", "s2")
        for namespace in ("default", "cars")
    ]
    for load in loads:
        await owner.load(new_load([records.good("gone")], task=0, seller=load.seller, namespace=load.namespace))
    results = await owner.take([message for load in loads[:3] for message in load.messages])
    await owner.sweep()

    assert [result.outcome for result in results] == [BATCH_OUTCOME_APPLIED] * 3
    for load in loads[:3]:
        assert await owner.alive(load) == {"a"}
        assert (await owner.rows(load))["a"][2] == f"{load.seller} {load.namespace}"
    assert await owner.alive(loads[3]) == {"gone"}


async def test_tasks_of_one_poll_see_what_the_earlier_one_did(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    first = new_load([records.good("a"), records.good("b")])
    second = new_load([records.good("a"), records.good("b", price=50), records.good("c")], task=2)
    results = await owner.take([*first.batches, *second.messages])
    assert counts_of(results) == {"added": 3, "unchanged": 1, "updated": 1}
    await owner.sweep()
    rows = await owner.rows()
    assert rows["a"][4:6] == (1, "ADDED")
    assert rows["b"][4:6] == (2, "UPDATED")


async def test_the_end_of_a_task_drops_what_it_has_seen(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.take(new_load([records.good("a")]).batches)  # this run never ends
    await owner.load(new_load([records.good("a"), records.good("b")], run=2))
    async with owner.database.connection() as connection:
        row = await (
            await connection.execute(
                "SELECT count(*), count(seen), (SELECT count(*) FROM sweep_slices) FROM applied_batches"
            )
        ).fetchone()
    assert row == (2, 0, 0)


@pytest.mark.parametrize("mode", [LOAD_MODE_REPLACE, LOAD_MODE_PATCH])
async def test_nul_in_any_text_of_a_request_stops_nobody(owner: Owner, mode: LoadMode) -> None:
    """It is refused as a dead letter with a reply, or stored as it is; the database never fails on it."""
    address: dict[str, Any] = {"seller_id": "x", "namespace": "x", "task_id": 1, "run": 1}
    batch = OfferBatch()
    fill_texts(batch)
    batch.MergeFrom(OfferBatch(**address, batch_id=1, mode=mode, digest=b"d" * 16))
    [record] = batch.records
    record.kind, record.content_hash, record.named_fields[0] = RECORD_KIND_OFFER, b"h" * 16, "title"
    record.errors[0].level = ISSUE_LEVEL_WARNING
    end = TaskEnd(**address, batch_count=1, digest=b"d" * 16, mode=mode, disposition=DISPOSITION_DELETE)
    handler = RequestHandler(outbox=Outbox(), moderation=ApprovedBySetting(), sweeps=owner, guard=owner.guard)
    refused: set[str] = set()
    spoiled = 0
    requests: list[OfferBatch | TaskEnd | RunCheck] = [batch, end, RunCheck(**address, last_batch_id=1)]
    for run, request in enumerate(requests, start=1):
        for path, wrong in spoil_texts(request):
            spoiled += 1
            wrong.task_id, wrong.run = spoiled, run
            message = message_of("requests", wrong.seller_id.encode(), wrong)
            taken = Record("requests", 0, spoiled, message.key, message.value, message.headers, 0)
            try:
                async with owner.database.transaction() as tx:
                    await handler.handle(tx, [taken])
            except Poison as poison:
                refused.add(path)
                async with owner.database.transaction() as tx:
                    await handler.refuse(tx, taken, str(poison))
    assert {"seller_id", "namespace", "records[0].external_id"} <= refused
    assert spoiled > 20
    assert "records[0].content.title" not in refused

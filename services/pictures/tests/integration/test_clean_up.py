"""Expired rows are removed, and no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from classifeed_common.db import Database
from classifeed_pictures.domain.lifecycle.events import Request
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.store.events import event_gaps
from classifeed_pictures.store.events.canonical_rules import list_rules, note_rekeyed, note_rules
from classifeed_pictures.store.files.robots import claim_rules, delete_old_rules, save_rules
from classifeed_pictures.store.states import comparisons
from classifeed_pictures.store.states.requests import delete_reported, remember

_NOW = datetime.now(UTC)
_OLD = _NOW - timedelta(days=100)
_BEFORE = _NOW - timedelta(days=90)
_HASH = bytes(16)


async def test_requests_go_that_are_old_and_whose_failure_was_reported(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    made = {"old": (_OLD, 7), "old, without a result": (_OLD, 0), "new": (_NOW, 7)}
    requests = [
        (_HASH, Request("offers", "seller", reference, "https://shop.example/1.jpg", at), reported)
        for reference, (at, reported) in made.items()
    ]
    async with database.transaction() as tx:
        await remember(tx, requests)
        assert await delete_reported(tx, before=_BEFORE, limit=10) == 1
        left = await (await tx.execute("SELECT reference FROM requests_in_flight")).fetchall()
    assert sorted(left) == [("new",), ("old, without a result",)]


async def test_comparisons_go_that_are_old_and_over_and_what_they_knew_before(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        first = await comparisons.begin_comparison(tx)
        await comparisons.add_used(tx, first, [_HASH])
        second = await comparisons.begin_comparison(tx)
        await comparisons.add_used(tx, second, [_HASH])
        await tx.execute("UPDATE comparisons SET began_at = %s", (_OLD,))
        third = await comparisons.begin_comparison(tx)
        await comparisons.move_comparison(tx, second, "HELD")
        await comparisons.drop_used(tx)
        used = await (await tx.execute("SELECT DISTINCT comparison_id FROM used_urls")).fetchall()
        assert used == [(second,)], "the used URLs of a comparison that may still be confirmed"
        assert await comparisons.delete_comparisons(tx, before=_BEFORE, limit=10) == 1
        left = await (await tx.execute("SELECT comparison_id FROM comparisons ORDER BY 1")).fetchall()
    assert left == [(second,), (third,)]


async def test_rules_go_that_were_in_force_before_the_last_16(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    changes = [
        CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": [f"a{number}"]})
        for number in range(20)
    ]
    async with database.transaction() as tx:
        for rules in changes:
            found = await note_rules(tx, rules, settle_s=0)
            assert await note_rules(tx, rules, settle_s=0) == found, "the same rules again are no change"
        await note_rekeyed(tx, found.rules_id)
        assert (await note_rules(tx, changes[-1], settle_s=60)).is_rekeyed
        [(count,)] = await (await tx.execute("SELECT count(*) FROM canonical_rules")).fetchall()
        assert (count, await list_rules(tx)) == (16, changes[4:])
        assert not (await note_rules(tx, changes[0], settle_s=60)).is_rekeyed, "older rules in force again are a change"


async def test_rules_of_hosts_go_that_are_old_and_whoever_fetches_new_ones_does_it_alone(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        for origin, fresh_s in (("https://old.example", -100 * 86400), ("https://new.example", 86400)):
            assert (await claim_rules(tx, origin, claim_s=60)).is_claimed
            assert not (await claim_rules(tx, origin, claim_s=60)).is_claimed
            await save_rules(tx, origin, "rules", fresh_s=fresh_s)
        fresh = await claim_rules(tx, "https://new.example", claim_s=60)
        assert (fresh.is_claimed, fresh.is_fresh, fresh.rules) == (False, True, "rules")
        await claim_rules(tx, "https://old.example", claim_s=60)
        await save_rules(tx, "https://old.example", None, fresh_s=-100 * 86400)
        old = await claim_rules(tx, "https://old.example", claim_s=60)
        assert (old.is_claimed, old.is_reachable, old.rules) == (True, False, "rules")
        assert await delete_old_rules(tx, before=_BEFORE, limit=10) == 1
        left = await (await tx.execute("SELECT origin FROM robots_rules")).fetchall()
    assert left == [("https://new.example",)]


async def test_gaps_go_that_were_closed_long_ago(migrated_database: Callable[[str], Awaitable[Database]]) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        await tx.execute("DELETE FROM event_gaps")
        for gap_id, closed_at in ((1, _OLD), (2, None), (3, _NOW), (4, _OLD)):
            values = (gap_id, closed_at)
            await tx.execute("INSERT INTO event_gaps (gap_id, cause, closed_at) VALUES (%s, 'a test', %s)", values)
        assert await event_gaps.delete_closed(tx, before=_BEFORE, limit=1) == 1
        assert await event_gaps.delete_closed(tx, before=_BEFORE, limit=10) == 1
        left = await (await tx.execute("SELECT gap_id FROM event_gaps ORDER BY 1")).fetchall()
    assert left == [(2,), (3,)]

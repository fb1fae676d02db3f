"""Records of superseded tasks are deleted after 30 days, removed offers after 45; what may be requested stays."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed_common.db import Database
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.plans import scanned_tables
from classifeed_offers.app import clean_up as cleaning
from classifeed_offers.app.clean_up import offers_clean_up
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying
from classifeed_offers.store import cleaning as cleaning_store

AT = datetime(2026, 11, 26, tzinfo=UTC)
CLEAN_UP = offers_clean_up(history_days=30, removed_days=45)


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_offers", "offers")


def days(number: float) -> datetime:
    return AT - timedelta(days=number)


async def insert_task(database: Database, task_id: int, age_days: float, outcome: str | None = "COMPLETED") -> None:
    async with database.transaction() as tx:
        key = ("s", "default", task_id)
        await tx.execute(
            "INSERT INTO task_heads VALUES (%s, %s, %s, 1) ON CONFLICT (seller_id, namespace)"
            " DO UPDATE SET task_id = greatest(task_heads.task_id, excluded.task_id)",
            key,
        )
        await tx.execute(
            "INSERT INTO applied_batches (seller_id, namespace, task_id, run, batch_id, digest, applied_at)"
            " SELECT %s, %s, %s, 1, b, '', %s FROM generate_series(1, 3) b",
            (*key, days(age_days)),
        )
        await tx.execute(
            "INSERT INTO task_ends (seller_id, namespace, task_id, run, batch_count, disposition, outcome, received_at)"
            " VALUES (%s, %s, %s, 1, 3, 'DELETE', %s, %s)",
            (*key, outcome, days(age_days)),
        )


async def insert_offer(
    database: Database,
    name: str,
    age_days: float,
    *,
    status: str = "REMOVED",
    published: int = 5,
    namespace: str = "default",
) -> None:
    async with database.transaction() as tx:
        await tx.execute(
            "INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status,"
            " last_task_id, last_change, moderation, version, published_version, updated_at)"
            " VALUES ('s', %s, %s, '', decode(repeat('00', 16), 'hex'), 'FEED', %s, 1, 'REMOVED', 'APPROVED', 5,"
            " %s, %s)",
            (namespace, name, status, published, days(age_days)),
        )


async def values(database: Database, query: str) -> list[Any]:
    async with database.transaction() as tx:
        return [row[0] for row in await (await tx.execute(query)).fetchall()]


@pytest.mark.parametrize("rows_at_once", [1, 2000])
async def test_what_overtaken_tasks_left_goes_after_its_time(
    database: Database, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr(cleaning, "_ROWS", rows_at_once)
    for task_id, age in ((1, 90), (2, 31), (3, 29), (4, 1)):
        await insert_task(database, task_id, age)
    removed = await offers_clean_up(history_days=30, removed_days=45).run(database, AT)
    assert removed == 8
    assert await values(database, "SELECT DISTINCT task_id FROM applied_batches ORDER BY 1") == [3, 4]
    assert await values(database, "SELECT task_id FROM task_ends ORDER BY 1") == [3, 4]


async def test_newest_task_of_a_namespace_can_be_asked_for_whatever_its_age(database: Database) -> None:
    """It may still be open: a batch that is sent again must not be applied twice."""
    await insert_task(database, 1, 400)
    await insert_task(database, 2, 300)
    await CLEAN_UP.run(database, AT)
    assert await values(database, "SELECT count(*) FROM applied_batches WHERE task_id = 2") == [3]
    assert await values(database, "SELECT task_id FROM task_ends") == [2]


async def test_end_whose_sweep_has_not_ended_stays(database: Database) -> None:
    await insert_task(database, 1, 400, outcome=None)
    await insert_task(database, 2, 1)
    await CLEAN_UP.run(database, AT)
    assert await values(database, "SELECT task_id FROM task_ends ORDER BY 1") == [1, 2]


@pytest.mark.parametrize("rows_at_once", [1, 2000])
async def test_removed_offers_go_once_the_search_has_forgotten_them(
    database: Database, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    defaults = cleaning.remove_offers.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "limit", rows_at_once)
    for namespace in ("default", "other"):
        for name, age in (("a", 46), ("b", 60), ("young", 44)):
            await insert_offer(database, name, age, namespace=namespace)
        await insert_offer(database, "unpublished", 400, published=4, namespace=namespace)
        await insert_offer(database, "alive", 400, status="ACTIVE", namespace=namespace)
    assert await offers_clean_up(history_days=30, removed_days=45).run(database, AT) == 4
    names = await values(database, "SELECT external_id FROM offers ORDER BY namespace, external_id")
    assert names == ["alive", "unpublished", "young"] * 2


async def test_sizes_go_with_the_days_that_nothing_is_compared_with(database: Database) -> None:
    async with database.transaction() as tx:
        days_of_size = "SELECT 's', 'default', %s::date - n, 5 FROM generate_series(0, 9) n"
        await tx.execute(f"INSERT INTO namespace_sizes {days_of_size}", (AT,))
    assert await CLEAN_UP.run(database, AT) == 2
    assert await values(database, "SELECT count(*) FROM namespace_sizes WHERE day >= '2026-11-19'") == [8]


async def test_offer_that_a_load_brings_back_meanwhile_stays(database: Database) -> None:
    """The load has read the removed offer and is about to change it: the clean-up waits, and finds it alive."""
    await insert_offer(database, "back", 60)
    async with database.transaction() as tx:
        await applying.lock_heads(tx, {Namespace("s", "default")})
        states = await applying.list_offers(tx, Namespace("s", "default"), {"back"}, with_content=False)
        cleaner = asyncio.create_task(CLEAN_UP.run(database, AT))
        async with asyncio.timeout(60):
            while not cleaner.done() and not await values(
                database,
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
            ):
                await asyncio.sleep(0.01)
        assert states["back"].offer_id
        changed = await tx.execute("UPDATE offers SET status = 'ACTIVE', version = 6 WHERE external_id = 'back'")
        assert changed.rowcount == 1, "the load's change came to nothing"
    await cleaner
    assert await values(database, "SELECT status FROM offers") == ["ACTIVE"]


async def test_what_goes_is_found_by_an_index(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute(
            "INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status,"
            " last_task_id, last_change, moderation, version, published_version)"
            " SELECT 's', 'default', i, '', decode(repeat('00', 16), 'hex'), 'FEED', 'ACTIVE', 1, 'ADDED',"
            " 'APPROVED', 5, 5"
            " FROM generate_series(1, 20000) i"
        )
        await tx.execute("ANALYZE offers")
    for name in ("find_removed", "delete_batches", "delete_ends"):
        query = cleaning_store._SQL[name]
        async with database.transaction() as tx:
            assert "offers" not in await scanned_tables(tx, query, {"before": AT, "limit": 10}), name

"""Many references at once: each counted once, locked in one order, by plans that do not grow with the tables."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from psycopg.errors import DeadlockDetected

from classifeed_common.blobs import BlobRefs
from classifeed_common.blobs.refs import SQL
from classifeed_common.db import Database, Tx, ddl
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_devkit.testing.plans import Hot, list_costly
from classifeed_devkit.testing.recovery import until

REFS = BlobRefs()
FIRST, MIDDLE, LAST = (digit * 64 for digit in "19a")
Change = Callable[[Tx, list[str], str], Awaitable[None]]


@pytest.fixture
async def tables(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("blob_refs", 1))
    return database


async def counts(db: Database) -> dict[str, int]:
    async with db.connection() as connection:
        return dict(await (await connection.execute("SELECT sha256, ref_count FROM blobs")).fetchall())


async def pairs_of(db: Database) -> set[tuple[str, str]]:
    async with db.connection() as connection:
        return set(await (await connection.execute("SELECT sha256, ref FROM blob_refs")).fetchall())


async def test_repeats_count_once(tables: Database) -> None:
    pairs = [(FIRST, "a"), (LAST, "a"), (FIRST, "b"), (FIRST, "a"), (LAST, "a")]
    for _ in range(2):
        async with tables.transaction() as tx:
            await REFS.add_many(tx, pairs)
            await REFS.add_many(tx, [])
    assert await counts(tables) == {FIRST: 2, LAST: 1}
    for _ in range(2):
        async with tables.transaction() as tx:
            await REFS.drop_many(tx, [(FIRST, "a"), (FIRST, "a"), (LAST, "b"), (MIDDLE, "a")])
            await REFS.drop_many(tx, [])
    assert await counts(tables) == {FIRST: 1, LAST: 1}
    assert await pairs_of(tables) == {(FIRST, "b"), (LAST, "a")}
    async with tables.transaction() as tx:
        await REFS.drop(tx, "a", "b", "c")
        await REFS.drop(tx)
    assert await counts(tables) == {FIRST: 0, LAST: 0}
    assert not await pairs_of(tables)


async def test_files_that_nobody_needed_are_named(tables: Database) -> None:
    async with tables.transaction() as tx:
        assert await REFS.add_many(tx, [(FIRST, "a"), (FIRST, "b")]) == {FIRST}
        assert await REFS.add_many(tx, [(FIRST, "c"), (LAST, "c")]) == {LAST}
        await REFS.drop(tx, "a", "b", "c")
        assert await REFS.add_many(tx, [(LAST, "a"), (FIRST, "a")]) == {FIRST, LAST}
        assert await REFS.add_many(tx, []) == frozenset()


async def add_many(tx: Tx, hashes: list[str], ref: str) -> None:
    await REFS.add_many(tx, [(sha256, ref) for sha256 in hashes])


async def drop_many(tx: Tx, hashes: list[str], ref: str) -> None:
    await REFS.drop_many(tx, [(sha256, ref) for sha256 in hashes])


async def drop(tx: Tx, _hashes: list[str], ref: str) -> None:
    await REFS.drop(tx, ref)


async def add_one_by_one(tx: Tx, hashes: list[str], ref: str) -> None:
    for sha256 in hashes:
        await REFS.add(tx, sha256, ref)


async def change(db: Database, how: Change, hashes: list[str], ref: str) -> None:
    async with db.transaction() as tx:
        await how(tx, hashes, ref)


async def interleave(db: Database, one: Change, other: Change) -> None:
    """Let two transactions change the same three files in opposite order, while a third one holds the second file.

    The first one waits for the second file and holds the first; then the other one starts from the last.
    """

    async with db.transaction() as holder:
        await REFS.add(holder, MIDDLE, "holder")
        first = asyncio.create_task(change(db, one, [FIRST, MIDDLE, LAST], "one"))
        assert await comes_to_wait(first, db, behind=holder)
        second = asyncio.create_task(change(db, other, [LAST, MIDDLE, FIRST], "other"))
        await some_wait(db, 2)
    await asyncio.gather(first, second)


async def test_a_file_made_known_while_a_removal_waits_is_left_to_its_maker(tables: Database) -> None:
    """The removal has not locked the file's row; locking it out of order could cause a deadlock."""
    async with tables.transaction() as tx:
        await REFS.add_many(tx, [(MIDDLE, "one"), (LAST, "one")])

    async with tables.transaction() as holder:
        await REFS.add(holder, LAST, "holder")
        removal = asyncio.create_task(change(tables, drop_many, [FIRST, MIDDLE, LAST], "one"))
        assert await comes_to_wait(removal, tables, behind=holder)
        await change(tables, add_many, [FIRST], "one")
        addition = asyncio.create_task(change(tables, add_many, [FIRST, MIDDLE], "other"))
        await some_wait(tables, 2)
    await asyncio.gather(removal, addition)
    assert await counts(tables) == {FIRST: 2, MIDDLE: 1, LAST: 1}
    assert await pairs_of(tables) == {(FIRST, "one"), (FIRST, "other"), (MIDDLE, "other"), (LAST, "holder")}


async def some_wait(db: Database, count: int) -> None:
    async def are_enough() -> bool:
        return await count_waiting(db) >= count

    await until(are_enough, within_s=60)


async def count_waiting(db: Database) -> int:
    async with db.connection() as connection:
        cursor = await connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        row = await cursor.fetchone()
    return int(row[0]) if row else 0


WAYS = (add_many, drop_many, drop)


@pytest.mark.parametrize(
    ("one", "other", "are_there"),
    [(add_many, add_many, False), *((one, other, True) for one in WAYS for other in WAYS)],
)
async def test_transactions_from_opposite_ends_do_not_deadlock(
    tables: Database, one: Change, other: Change, are_there: bool
) -> None:
    async with tables.transaction() as tx:
        if are_there:
            await REFS.add_many(tx, [(sha256, ref) for sha256 in (FIRST, MIDDLE, LAST) for ref in ("one", "other")])
    await interleave(tables, one, other)
    has = {way: way is add_many for way in (one, other)}
    expected = int(has[one]) + int(has[other])
    assert await counts(tables) == {FIRST: expected, MIDDLE: expected + 1, LAST: expected}


@pytest.mark.parametrize("are_there", [True, False], ids=["known", "new"])
async def test_one_by_one_they_do(tables: Database, are_there: bool) -> None:
    async with tables.transaction() as tx:
        if are_there:
            await REFS.add_many(tx, [(sha256, "before") for sha256 in (FIRST, MIDDLE, LAST)])
    with pytest.raises(DeadlockDetected):
        await interleave(tables, add_one_by_one, add_one_by_one)


async def test_adding_and_dropping_at_random_end_in_the_right_count(tables: Database) -> None:
    hashes = [digit * 64 for digit in "0123456789"]

    async def change(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(20):
            chosen = chance.choices(hashes, k=6)
            refs = chance.choices("abc", k=6)
            pairs: list[Any] = list(zip(chosen, refs, strict=True))
            async with tables.transaction() as tx:
                if chance.random() < 0.6:
                    await REFS.add_many(tx, pairs)
                elif chance.random() < 0.5:
                    await REFS.drop_many(tx, pairs)
                else:
                    await REFS.drop(tx, *refs[:2])

    await asyncio.gather(*map(change, range(6)))
    there = await pairs_of(tables)
    for sha256, count in (await counts(tables)).items():
        assert count == sum(1 for each, _ in there if each == sha256)


READING = ("list_needed", "filter_needed")
BEFORE = """
INSERT INTO blobs SELECT md5(n::text) || md5(n::text), 1, clock_timestamp() FROM generate_series(1, 2000) n;
INSERT INTO blob_refs SELECT 'before:' || sha256, sha256 FROM blobs;
ANALYZE blobs, blob_refs;
INSERT INTO blobs SELECT md5('x' || n) || md5(n::text), 1, clock_timestamp() FROM generate_series(1, 20000) n;
INSERT INTO blob_refs SELECT 'since:' || substr(sha256, 1, 32), sha256 FROM blobs ORDER BY touched_at DESC LIMIT 20000
"""


@pytest.mark.parametrize("count", [2, 500])
async def test_what_is_read_does_not_grow_with_the_tables(tables: Database, count: int) -> None:
    async with tables.transaction() as tx:
        for statement in BEFORE.split(";\n"):
            await tx.execute(statement)
        rows = await (
            await tx.execute("SELECT sha256, ref FROM blob_refs WHERE ref LIKE 'since:%%' LIMIT %s", [count])
        ).fetchall()
        sha256s, refs = [sha256 for sha256, _ in rows], [ref for _, ref in rows]
        given = {"sha256s": sha256s, "refs": refs, "after": "5", "limit": count}
        of_new = given | {"refs": [f"{ref}new" for ref in refs]}
        statements = {
            name: Hot(SQL[name], of_new if name == "add_refs" else given, most=10 * count + 100)
            for name in ("touch_blobs", "add_refs", "list_refs", "lock_blobs", "remove_refs", *READING)
        }
        assert await list_costly(tx, statements) == {}

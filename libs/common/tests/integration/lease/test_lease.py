"""Leases and their guard, compared with naive approaches that fail in the same situations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.lease import Lease, LeaseLost, Leases
from classifeed_common.lease import leases as leases_module
from classifeed_devkit.testing.locks import comes_to_wait

Check = Callable[[Database, Tx, Leases, Lease], Awaitable[None]]


async def expire(db: Database, name: str) -> None:
    """Expire a lease without waiting for the ttl."""
    async with db.connection() as connection:
        await connection.execute("UPDATE leases SET expires_at = clock_timestamp() WHERE name = %s", [name])


async def acquired(leases: Leases, name: str) -> Lease:
    lease = await leases.acquire(name)
    assert lease is not None
    return lease


async def value_of_work(db: Database) -> str:
    async with db.connection() as connection:
        row = await (await connection.execute("SELECT value FROM work")).fetchone()
    assert row is not None
    return str(row[0])


async def test_a_name_has_one_holder_until_it_expires_and_the_fence_grows(db: Database) -> None:
    ann, bob = Leases(db, "ann", 60), Leases(db, "bob", 60)
    first = await acquired(ann, "n")
    assert (first.name, first.holder) == ("n", "ann")
    assert await bob.acquire("n") is None
    assert await ann.acquire("n") is None
    await expire(db, "n")
    second = await acquired(bob, "n")
    await expire(db, "n")
    third = await acquired(bob, "n")
    assert (second.holder, third.holder) == ("bob", "bob")
    assert first.fence < second.fence < third.fence


NAIVE_FENCE = (
    "UPDATE leases SET holder = %(holder)s, fence = fence + 1 WHERE name = ANY(%(names)s) RETURNING name, fence"
)


@pytest.mark.parametrize("way", ["floored by the clock", "one more than the last"])
async def test_no_fence_is_given_twice_across_a_restore(
    db: Database, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The table is restored from a backup; observers of later fences must still accept the new holder's."""
    if way == "one more than the last":
        monkeypatch.setattr(leases_module, "_ACQUIRE", NAIVE_FENCE)
    leases = Leases(db, "ann", 60)

    async def acquire_again(times: int) -> int:
        for _ in range(times):
            await expire(db, "n")
            fence = (await acquired(leases, "n")).fence
        return fence

    await leases.acquire_some(["n"], 1)
    before = await acquire_again(2)
    async with db.connection() as connection:
        await connection.execute("CREATE TABLE backup AS SELECT * FROM leases")
    newest_seen = await acquire_again(5)
    async with db.transaction() as tx:
        await tx.execute("TRUNCATE leases")
        await tx.execute("INSERT INTO leases SELECT * FROM backup")
    assert before < newest_seen
    assert (await acquire_again(1) > newest_seen) == (way == "floored by the clock")


async def test_fence_grows_when_the_clock_has_stepped_back(db: Database) -> None:
    future = 4_000_000_000_000_000
    leases = Leases(db, "ann", 60)
    await acquired(leases, "n")
    async with db.connection() as connection:
        await connection.execute("UPDATE leases SET fence = %s, expires_at = clock_timestamp()", [future])
    assert (await acquired(leases, "n")).fence == future + 1
    async with db.transaction() as tx:
        await leases.revoke(tx, "n")
    assert (await acquired(leases, "n")).fence == future + 3


async def test_a_released_lease_is_free_at_once_and_releasing_late_harms_nobody(db: Database) -> None:
    ann, bob = Leases(db, "ann", 60), Leases(db, "bob", 60)
    first = await acquired(ann, "n")
    await ann.release(first)
    second = await acquired(bob, "n")
    await ann.release(first)
    assert await ann.acquire("n") is None
    assert await bob.renew([second]) == {"n"}


async def test_renewal_keeps_what_is_held_and_tells_what_is_lost(db: Database) -> None:
    ann, bob = Leases(db, "ann", 60), Leases(db, "bob", 60)
    leases = [await acquired(ann, name) for name in ("a", "b", "c")]
    await expire(db, "a")
    await expire(db, "b")
    await acquired(bob, "b")
    assert await ann.renew(leases) == {"a", "c"}
    assert await bob.acquire("a") is None
    assert await ann.renew([]) == set()


async def test_expiry_is_by_the_database_alone(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose clock is a day ahead neither acquires early nor releases late."""
    ahead, sober = Leases(db, "ahead", 60), Leases(db, "sober", 60)
    lease = await acquired(sober, "n")
    monkeypatch.setattr("time.time", lambda: 4e9)
    assert await ahead.acquire("n") is None
    await expire(db, "n")
    await acquired(ahead, "n")
    assert await sober.renew([lease]) == set()
    async with db.connection() as connection:
        row = await (
            await connection.execute("SELECT expires_at - clock_timestamp() < interval '61 seconds' FROM leases")
        ).fetchone()
    assert row == (True,)


async def test_of_concurrent_acquirers_one_wins_each_round(db: Database) -> None:
    rivals = [Leases(db, f"h{number}", 60) for number in range(8)]
    newest = 0
    for _ in range(30):
        results = await asyncio.gather(*(rival.acquire("n") for rival in rivals))
        [winner] = [lease for lease in results if lease is not None]
        assert winner.fence > newest
        newest = winner.fence
        await expire(db, "n")


async def test_some_names_are_taken_up_to_the_count(db: Database) -> None:
    ann, bob = Leases(db, "ann", 60), Leases(db, "bob", 60)
    names = [f"n{number}" for number in range(10)]
    mine = await ann.acquire_some(names, 4)
    assert len(mine) == 4
    theirs = await bob.acquire_some(names, 100)
    assert {lease.name for lease in (*mine, *theirs)} == set(names)
    assert len(theirs) == 6


# --- The zombie: it was paused beyond its lease, another holder wrote; then it continues.


async def guard(db: Database, tx: Tx, leases: Leases, lease: Lease) -> None:
    await leases.guard(tx, lease)


async def look_first(db: Database, tx: Tx, leases: Leases, lease: Lease) -> None:
    """Write the naive way: check whether the lease is held, then write."""
    async with db.connection() as connection:
        found = await connection.execute(
            "SELECT 1 FROM leases WHERE name = %s AND holder = %s AND expires_at > clock_timestamp()",
            [lease.name, lease.holder],
        )
        if await found.fetchone() is None:
            raise LeaseLost(lease)


async def zombie_overwrites(db: Database, check: Check) -> bool:
    """Return whether a holder that pauses between its check and its write overwrites its successor."""
    zombie, successor = Leases(db, "zombie", 60), Leases(db, "successor", 60)
    old = await acquired(zombie, "n")
    checked, go_on = asyncio.Event(), asyncio.Event()

    async def write_with_a_pause() -> None:
        async with db.transaction() as tx:
            await check(db, tx, zombie, old)
            checked.set()
            await go_on.wait()
            await tx.execute("UPDATE work SET value = 'zombie'")

    writing = asyncio.create_task(write_with_a_pause())
    await checked.wait()
    await expire(db, "n")
    new = await successor.acquire("n")
    if new is not None:  # with the guard, the takeover waits for the open transaction
        async with db.transaction() as tx:
            await successor.guard(tx, new)
            await tx.execute("UPDATE work SET value = 'successor'")
    go_on.set()
    await writing
    if new is None:
        new = await acquired(successor, "n")
        async with db.transaction() as tx:
            await successor.guard(tx, new)
            await tx.execute("UPDATE work SET value = 'successor'")
    return await value_of_work(db) != "successor"


async def test_no_zombie_overwrites_its_successor(db: Database) -> None:
    assert not await zombie_overwrites(db, guard)


async def test_looking_first_lets_the_zombie_overwrite(db: Database) -> None:
    assert await zombie_overwrites(db, look_first)


async def test_a_paused_holder_is_refused_by_the_guard(db: Database) -> None:
    zombie, successor = Leases(db, "zombie", 60), Leases(db, "successor", 60)
    old = await acquired(zombie, "n")
    await expire(db, "n")
    async with db.transaction() as tx:
        with pytest.raises(LeaseLost, match=f"lease n \\(fence {old.fence}\\) is no longer held by zombie"):
            await zombie.guard(tx, old)
    await acquired(successor, "n")
    async with db.transaction() as tx:
        with pytest.raises(LeaseLost):
            await zombie.guard(tx, old)


async def test_the_same_holder_is_refused_with_an_older_fence(db: Database) -> None:
    leases = Leases(db, "ann", 60)
    old = await acquired(leases, "n")
    await expire(db, "n")
    await acquired(leases, "n")
    async with db.transaction() as tx:
        with pytest.raises(LeaseLost):
            await leases.guard(tx, old)


async def test_renewals_and_further_guards_pass_a_guarded_transaction(db: Database) -> None:
    leases = Leases(db, "ann", 25)
    lease = await acquired(leases, "n")
    async with db.transaction() as tx, asyncio.timeout(60):
        await leases.guard(tx, lease)
        assert await leases.renew([lease]) == {"n"}  # would time out if it had to wait
        async with db.transaction() as other:
            await leases.guard(other, lease)
        await expire(db, "n")
        assert await Leases(db, "bob", 25).acquire("n") is None  # renewed in between, and still locked for a takeover
    await acquired(Leases(db, "bob", 25), "n")


async def test_revoking_waits_for_guarded_work_and_fences_off_the_rest(db: Database) -> None:
    leases = Leases(db, "ann", 60)
    lease = await acquired(leases, "n")
    events: list[str] = []

    async def revoke() -> None:
        async with db.transaction() as tx:
            await leases.revoke(tx, "n")
            events.append("revoked")

    async with db.transaction() as tx:
        await leases.guard(tx, lease)
        revoking = asyncio.create_task(revoke())
        assert await comes_to_wait(revoking, db, behind=tx)
        events.append("committing")
    await revoking
    assert events == ["committing", "revoked"]
    async with db.transaction() as tx:
        with pytest.raises(LeaseLost):
            await leases.guard(tx, lease)
    assert await leases.renew([lease]) == set()
    assert (await acquired(leases, "n")).fence > lease.fence


async def test_statements_use_indexes(db: Database) -> None:
    queries = load_queries("classifeed_common.lease")
    names = [f"shard/{number}" for number in range(64)]
    values = {
        "name": "shard/1", "names": names, "holders": ["ann"] * 64, "fences": [1] * 64, "count": 8, "holder": "ann",
        "fence": 1, "ttl_s": 30, "group": "indexer", "member": "indexer@ann",
    }  # fmt: skip
    async with db.connection() as connection:
        await connection.execute(
            "INSERT INTO leases SELECT 'shard/' || n, 'ann', 1, clock_timestamp(),"
            " CASE WHEN n % 1000 = 0 THEN 'indexer' END FROM generate_series(1, 30000) n"
        )
        await connection.execute("ANALYZE leases")
        for name, statement in queries.items():
            plan = await (await connection.execute(f"EXPLAIN {statement}", values)).fetchall()
            assert not [line for (line,) in plan if "Seq Scan on leases" in line], (name, plan)

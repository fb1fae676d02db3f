"""MarkPusher when the receiver is away, refuses, or loses its data; and versions that never fall."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from classifeed_common.clock import FakeClock
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable
from classifeed_common.lease import Lease, Leases
from classifeed_common.publish_mark import FIRST_VERSION, NEXT_VERSION, MarkPusher
from classifeed_common.publish_mark import pusher as pusher_module
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.pauses import HeldPauses

from .goods import ADVANCE, PUT, SELECT_DUE, Peer, prices, put, until


def pusher_of(db: Database, push: Any, *, holder: str = "pusher", batch: int = 500, **options: Any) -> MarkPusher:
    return MarkPusher(
        db,
        name="goods",
        select_due=SELECT_DUE,
        advance=ADVANCE,
        push=push,
        leases=Leases(db, holder, options.pop("ttl_s", 30)),
        batch=batch,
        **options,
    )


def settled(pusher: MarkPusher) -> Callable[[], Awaitable[bool]]:
    async def is_settled() -> bool:
        return await pusher.backlog() == 0

    return is_settled


async def fill(db: Database, count: int) -> None:
    async with db.connection() as connection:
        await connection.execute(
            f"INSERT INTO goods (id, price, version) SELECT 'g' || n, n, {FIRST_VERSION} FROM generate_series(1, %s) n",
            [count],
        )


async def test_all_due_rows_go_in_batches_and_only_once(db: Database) -> None:
    await fill(db, 1234)
    peer = Peer()
    pusher = pusher_of(db, peer.push)
    assert await pusher.backlog() == 1234
    async with running(pusher):
        await until(settled(pusher))
    assert peer.calls == [500, 500, 234]
    assert peer.prices() == await prices(db)


async def test_marks_are_planned_for_each_batch(db: Database) -> None:
    # From its sixth execution on, a prepared statement assumes arrays of ten elements.
    prepared: list[int] = []

    async def look(tx: Tx) -> None:
        query = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%UPDATE goods%'"
        prepared.extend(count for (count,) in await (await tx.execute(query, prepare=False)).fetchall())

    await fill(db, 240)
    peer = Peer()
    pusher = pusher_of(db, peer.push, batch=20, record=look)
    async with running(pusher):
        await until(settled(pusher))
    assert prepared == [0] * 12


async def test_a_wake_cuts_the_pause_short(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_common.publish_mark.pusher._FIRST_PAUSE_S", 3600)
    peer = Peer()
    pusher = pusher_of(db, peer.push, max_idle_s=3600)
    looks: list[int] = []
    look = pusher._push_batch

    async def noted_look(lease: Lease) -> int:
        looks.append(await look(lease))
        return looks[-1]

    monkeypatch.setattr(pusher, "_push_batch", noted_look)

    async def found_nothing() -> bool:
        return looks == [0]

    async with running(pusher):
        await until(found_nothing)
        await put(db, "chair", 1)
        pusher.wake()
        await until(settled(pusher))
    assert peer.prices() == {"chair": 1}


async def test_rows_that_come_after_a_small_batch_go_together(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = HeldPauses(monkeypatch, pusher_module)
    peer = Peer()
    pusher = pusher_of(db, peer.push, gather_s=1)
    await put(db, "chair", 1)
    async with running(pusher):
        async with asyncio.timeout(30):
            await pauses.begun.wait()
        for number in range(5):
            await put(db, f"lamp {number}", number)
            pusher.wake()
        assert peer.calls == [1]
        pauses.end()
        await until(settled(pusher))
        assert peer.calls == [1, 5]


async def test_a_backlog_is_pushed_without_pauses(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = HeldPauses(monkeypatch, pusher_module)
    await fill(db, 30)
    peer = Peer()
    pusher = pusher_of(db, peer.push, batch=10, gather_s=1)
    async with running(pusher):
        await until(settled(pusher))
    assert (peer.calls, pauses.count) == ([10, 10, 10], 0)


async def test_a_pause_ends_with_the_process(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = HeldPauses(monkeypatch, pusher_module)
    await put(db, "chair", 1)
    async with asyncio.timeout(30):
        async with running(pusher_of(db, Peer().push, gather_s=1)):
            await pauses.begun.wait()


async def test_what_is_refused_holds_up_nobody_and_goes_when_it_is_taken(db: Database) -> None:
    await fill(db, 40)
    peer = Peer()
    peer.refused = {f"g{number}" for number in range(1, 26)}  # the oldest: two and a half batches
    pusher = pusher_of(db, peer.push, batch=10)
    async with running(pusher):

        async def others_are_settled() -> bool:
            # The peer knows them a moment before the mark of the last batch is moved.
            return len(peer.known) == 15 and await pusher.backlog() == 25

        await until(others_are_settled)
        peer.refused = set()
        await until(settled(pusher))
    assert peer.prices() == await prices(db)


async def test_nothing_is_lost_while_the_other_side_is_away(db: Database) -> None:
    await fill(db, 10)
    peer = Peer()
    peer.away = 3
    pusher = pusher_of(db, peer.push, max_backoff_s=0.1)
    async with running(pusher):
        await until(settled(pusher))
    assert peer.calls == [10, 10, 10, 10]


async def test_a_push_that_fails_is_named_until_one_succeeds(db: Database) -> None:
    await fill(db, 10)
    peer, clock = Peer(), FakeClock()
    peer.away, before = 1_000_000, 0
    pusher = pusher_of(db, peer.push, max_backoff_s=0.05, clock=clock)

    async def has_failed() -> bool:
        return len(peer.calls) > before + 1

    async def is_well() -> bool:
        return pusher.blocked() == {}

    async with running(pusher):
        await until(has_failed)
        assert pusher.blocked() == {}
        await clock.advance(5)
        fault = pusher.blocked()["goods"]
        assert fault.startswith("pushing has failed for 5 s, ")
        assert ": PEER_AWAY: the peer is away. Changed rows wait to be pushed; it continues once" in fault
        peer.away = 0
        await until(is_well)
        assert await pusher.backlog() == 0
        peer.away, before = 1_000_000, len(peer.calls)
        await put(db, "lamp", 1)
        await until(has_failed)
        await clock.advance(5)
        assert pusher.blocked()
    assert pusher.blocked() == {}, "whoever has the lease next names what fails there"


async def test_pushing_goes_on_after_a_lease_that_ran_out_and_was_renewed(db: Database) -> None:
    """Nobody took it meanwhile, so its keeper never lost it, and no other process would start."""
    await fill(db, 3)
    peer = Peer()

    async def run_out() -> None:
        async with db.connection() as connection:
            await connection.execute("UPDATE leases SET expires_at = clock_timestamp()")

    peer.before_response = run_out
    pusher = pusher_of(db, peer.push, ttl_s=3)
    async with running(pusher):
        await until(settled(pusher))
    assert peer.prices() == await prices(db)
    assert len(peer.calls) >= 2, "the push under the lease that ran out marked nothing"


async def test_an_answer_that_does_not_fit_marks_nothing(db: Database) -> None:
    await fill(db, 3)
    peer = Peer()
    responses = [[True], [True, True, True, True]]

    async def push(rows: Any) -> list[bool]:
        taken = await peer.push(rows)
        return responses.pop() if responses else taken

    pusher = pusher_of(db, push, max_backoff_s=0.1)
    async with running(pusher):
        await until(settled(pusher))
    assert peer.calls == [3, 3, 3]


async def test_a_pusher_that_dies_between_push_and_mark_is_followed_by_another(db: Database) -> None:
    await fill(db, 10)
    peer = Peer()
    dying = pusher_of(db, peer.push, holder="dying")
    lease = await Leases(db, "dying", 30).acquire(dying.lease_name)
    assert lease is not None

    async def die() -> None:
        raise asyncio.CancelledError

    peer.before_response = die
    with pytest.raises(asyncio.CancelledError):
        await dying._push_batch(lease)
    assert await dying.backlog() == 10
    await Leases(db, "dying", 30).release(lease)
    pusher = pusher_of(db, peer.push, holder="next")
    async with running(pusher):
        await until(settled(pusher))
    assert peer.calls == [10, 10]


async def test_a_late_pusher_never_moves_the_mark_back_or_past_a_newer_version(db: Database) -> None:
    """It pushed version 1 of a row and was paused, and another pusher pushed version 2."""
    await put(db, "chair", 1)
    peer = Peer()
    late = pusher_of(db, peer.push, holder="late")
    leases = Leases(db, "late", 30)
    old = await leases.acquire(late.lease_name)
    assert old is not None

    async def another_goes_on() -> None:
        await put(db, "chair", 2)
        await leases.release(old)
        pusher = pusher_of(db, peer.push, holder="other")
        async with running(pusher):
            await until(settled(pusher))

    peer.before_response = another_goes_on
    with pytest.raises(Exception, match="no longer held by late"):
        await late._push_batch(old)
    async with db.connection() as connection:
        row = await (await connection.execute("SELECT version = published_version FROM goods")).fetchone()
    assert row == (True,)
    assert peer.prices() == {"chair": 2}


@pytest.mark.parametrize("way", ["restart", "marks only"])
async def test_a_full_push_again_reaches_what_was_under_way(db: Database, way: str) -> None:
    """The receiver loses everything during a first push; the marks are set to 0 meanwhile."""
    await fill(db, 5)
    peer = Peer()
    # Short if a revoked lease must be acquired again; otherwise long, so that no pause of the test lets it expire.
    pusher = pusher_of(db, peer.push, ttl_s=3 if way == "restart" else 300)

    async def lose_everything() -> None:
        peer.known.clear()
        async with db.transaction() as tx:
            if way == "restart":
                await pusher.restart(tx)
            await tx.execute("UPDATE goods SET published_version = 0")

    peer.before_response = lose_everything
    async with running(pusher):
        await until(settled(pusher))
    assert (peer.prices() == await prices(db)) == (way == "restart")


async def test_what_is_recorded_holds_together_with_the_mark(db: Database) -> None:
    await fill(db, 3)
    peer = Peer()
    async with db.connection() as connection:
        await connection.execute("CREATE TABLE answers (rows int)")
    is_first = True

    async def record(tx: Tx) -> None:
        nonlocal is_first
        await tx.execute("INSERT INTO answers VALUES (%s)", [peer.calls[-1]])
        if is_first:
            is_first = False
            raise KeyError("it cannot be recorded")

    pusher = pusher_of(db, peer.push, record=record, max_backoff_s=0.1)
    async with running(pusher):
        await until(settled(pusher))
    assert peer.calls == [3, 3], "the mark did not move without it"
    async with db.connection() as connection:
        assert await (await connection.execute("SELECT rows FROM answers")).fetchall() == [(3,)]


async def test_idle_work_is_done_between_pushes_now_and_then(db: Database) -> None:
    calls = 0
    peer = Peer()

    async def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Unavailable("PEER_AWAY", "the peer is away")

    pusher = pusher_of(db, peer.push, on_idle=check, idle_every_s=3600, max_idle_s=0.01, max_backoff_s=0.1)
    rival = pusher_of(db, peer.push, holder="rival", on_idle=check, idle_every_s=0, max_idle_s=0.01)

    async def checked_again() -> bool:
        return calls == 2

    async with running(pusher):
        await until(checked_again)
        async with running(rival):  # without the lease it does not push, and does nothing between pushes
            await put(db, "chair", 1)
            await until(settled(pusher))
            await asyncio.sleep(0.2)
    assert calls == 2


async def test_versions_never_fall_when_the_clock_steps_back(db: Database) -> None:
    future = 4_000_000_000_000_000
    await put(db, "chair", 1)
    async with db.transaction() as tx:  # written while the clock was far ahead
        await tx.execute("UPDATE goods SET version = %s", [future])
        await tx.execute(f"UPDATE goods SET price = 2, version = {NEXT_VERSION}")
        by_update = await (await tx.execute("SELECT version FROM goods")).fetchone()
        by_insert = await (await tx.execute(PUT, ["chair", 3])).fetchone()
    assert by_update == (future + 1,)
    assert by_insert == ("chair", 3, future + 2)


async def test_versions_follow_the_clock_so_that_a_new_row_is_above_a_purged_one(db: Database) -> None:
    await put(db, "chair", 1)
    async with db.transaction() as tx:
        await tx.execute(f"UPDATE goods SET version = {NEXT_VERSION}")
        purged = await (await tx.execute("DELETE FROM goods RETURNING version")).fetchone()
        made = await (await tx.execute(PUT, ["chair", 2])).fetchone()
    assert purged is not None
    assert made is not None
    assert made[2] > purged[0]


async def test_the_way_of_reading_and_marking_uses_indexes(db: Database, database_dsn: str) -> None:
    async with db.connection() as connection:
        await connection.execute(
            "INSERT INTO goods (id, price, version, published_version)"
            " SELECT 'g' || n, n, n, CASE WHEN n % 1000 = 0 THEN 0 ELSE n END FROM generate_series(1, 100000) n"
        )
        await connection.execute("ANALYZE goods")
    values = {"limit": 500, "above": 0, "ids": [f"g{n}" for n in range(500)], "versions": list(range(500))}
    with psycopg.connect(database_dsn, options="-c search_path=test") as connection:
        for statement, index in ((SELECT_DUE, "goods_due"), (ADVANCE, "goods_pkey")):
            plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}", values))
            assert index in plan, plan
            assert "Seq Scan on goods" not in plan, plan

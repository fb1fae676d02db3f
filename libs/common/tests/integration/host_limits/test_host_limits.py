"""Permits across processes: two pools on one database, with nothing else in common, represent two processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from classifeed_common.db import Database, ddl
from classifeed_common.fetch import HostPaused
from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits import HostLimits, HostPolicy, forget_hosts
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.rates import RateChange, rate_change
from classifeed_common.host_limits.table import _SQL, HostReport, HostTable, Reply
from classifeed_devkit.testing.locks import comes_to_wait

HOST = "shop.example.com"
FAST = HostPolicy(first_rate=1e5, highest_rate=1e5, send_within_s=60, max_wait_s=60, hold_s=600)
StartLimits = Callable[..., Awaitable[HostLimits]]


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    return database


@pytest.fixture
async def process(db: Database) -> AsyncIterator[StartLimits]:
    """Start processes; `await process(policy)`."""
    async with AsyncExitStack() as stack:

        async def start(policy: HostPolicy = FAST) -> HostLimits:
            own = Database(db.dsn, schema=db.schema, application_name="process", max_size=2)
            await own.open()
            stack.push_async_callback(own.close)
            limits = HostLimits(own, policy)
            stack.push_async_callback(limits.close)
            return limits

        yield start


async def row_of(db: Database, host: str = HOST) -> dict[str, Any]:
    async with db.connection() as connection:
        cursor = await connection.execute("SELECT row_to_json(h) FROM fetch_hosts h WHERE host = %s", [host])
        found = await cursor.fetchone()
    return dict(found[0]) if found else {}


async def use(limits: HostLimits, *outcomes: Outcome, host: str = HOST, retry_after_s: float | None = None) -> None:
    async with limits.permit(host) as permit:
        await permit.ready()
        for outcome in outcomes:
            permit.report(outcome, retry_after_s)


@asynccontextmanager
async def held(limits: HostLimits, count: int) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(limits.permit(HOST))
        yield


async def test_so_many_are_under_way_at_a_time_over_all_processes(process: StartLimits) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=3, max_wait_s=60)
    processes = [await process(policy) for _ in range(2)]
    running = most = 0
    is_full = asyncio.Event()

    async def request(number: int) -> None:
        nonlocal running, most
        async with processes[number % 2].permit(HOST):
            running += 1
            most = max(most, running)
            if running == 3:
                is_full.set()
            await is_full.wait()
            await asyncio.sleep(0.01)
            running -= 1

    async with asyncio.timeout(120):
        await asyncio.gather(*(request(number) for number in range(40)))
    assert most == 3


async def test_who_cannot_have_one_in_time_is_told_when_to_come_again(process: StartLimits) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=2, max_wait_s=0.05)
    first, second = await process(policy), await process(policy)
    async with held(first, 2):
        for limits in (first, second):
            with pytest.raises(HostPaused) as paused:
                await use(limits)
            assert paused.value.host == HOST
            assert paused.value.wait_s >= 1
            assert not paused.value.by_retry_after
    await use(first)
    await use(second)


async def test_rates_keep_those_at_the_end_of_the_queue_from_waiting_in_vain(process: StartLimits) -> None:
    limits = await process(HostPolicy(first_rate=1, highest_rate=1, at_a_time=99, max_wait_s=3))
    async with asyncio.timeout(120):
        drawn = await asyncio.gather(*(use(limits) for _ in range(20)), return_exceptions=True)
    paused = [each for each in drawn if isinstance(each, HostPaused)]
    assert 1 <= drawn.count(None) <= 4
    assert len(paused) == 20 - drawn.count(None)
    assert sorted(each.wait_s for each in paused)[-1] > 15


_CHILD = """
import asyncio, sys
from classifeed_common.db import Database
from classifeed_common.host_limits import HostLimits, HostPolicy

async def hold():
    database = Database(sys.argv[1], schema=sys.argv[2], application_name="child", max_size=1)
    await database.open()
    async with HostLimits(database, HostPolicy()).permit(sys.argv[3]):
        print("held", flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""


async def test_the_permit_of_a_process_that_died_comes_free_after_its_time(process: StartLimits, db: Database) -> None:
    alive = await process(HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=0))
    arguments = (sys.executable, "-c", _CHILD, db.dsn, db.schema, HOST)
    child = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    assert await child.stdout.readline() == b"held\n"
    child.kill()
    await child.wait()
    with pytest.raises(HostPaused):
        await use(alive)
    await shift(db, "-30 seconds")
    with pytest.raises(HostPaused):
        await use(alive)
    await shift(db, "-31 seconds")
    await use(alive)


async def test_a_permit_is_renewed_as_long_as_it_is_needed(process: StartLimits, db: Database) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=0, hold_s=12)
    first, second = await process(policy), await process(policy)
    names: set[int] = set()
    async with asyncio.timeout(120), first.permit(HOST):
        while len(names) < 5:  # longer than the lifetime of one permit
            names.update((await row_of(db))["held"])
            with pytest.raises(HostPaused):
                await use(second)
            await asyncio.sleep(0.05)
    await first.close()
    assert (await row_of(db))["held"] == []
    await use(second)


async def test_a_permit_that_is_given_back_while_it_is_renewed_is_nobody_s(process: StartLimits, db: Database) -> None:
    limits = await process(HostPolicy(first_rate=1e5, highest_rate=1e5, hold_s=0.3))
    async with AsyncExitStack() as stack, db.connection() as watcher:
        await stack.enter_async_context(limits.permit(HOST))
        async with db.transaction() as tx:
            await tx.execute("LOCK TABLE fetch_hosts IN EXCLUSIVE MODE")
            async with asyncio.timeout(60):
                while not await (await watcher.execute(_RENEWING)).fetchone():
                    await asyncio.sleep(0.02)
            returning = asyncio.create_task(stack.aclose())
            await asyncio.sleep(0)
        await returning
    assert (await row_of(db))["held"] == []


_RENEWING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%FROM fetch_hosts WHERE%%'"


async def test_a_permit_outlives_its_row(process: StartLimits, db: Database) -> None:
    """An operator removes the row of a host while the host sends a file."""
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=0, hold_s=6)
    first, second = await process(policy), await process(policy)
    async with asyncio.timeout(60), first.permit(HOST):
        async with db.connection() as connection:
            await connection.execute("DELETE FROM fetch_hosts")
        while not (await row_of(db)).get("held"):
            await asyncio.sleep(0.02)
        with pytest.raises(HostPaused):
            await use(second)


async def test_a_renewal_whose_response_was_lost_leaves_one_permit(db: Database) -> None:
    table = HostTable(db, FAST)
    is_lost = True

    async def draw(_until_s: float, former: HostReport) -> Reply:
        return await table.draw(HOST, former, wants=True)

    async def send(report: HostReport) -> None:
        await table.draw(HOST, report, wants=False)
        if is_lost:
            raise psycopg.OperationalError

    permit = HostPermit(FAST, draw, send)
    await permit.draw()
    for is_lost in (True, True, False):
        with pytest.raises(psycopg.OperationalError) if is_lost else nullcontext():
            await permit.renew()
        assert len((await row_of(db))["held"]) == 1
    await table.draw(HOST, permit.give_back(), wants=False)
    assert (await row_of(db))["held"] == []


async def test_renewals_that_fail_keep_nobody_waiting_and_are_made_up_for(process: StartLimits, db: Database) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=600, hold_s=6)
    first, second = await process(policy), await process(policy)
    async with asyncio.timeout(120):
        async with first.permit(HOST) as permit:
            async with db.connection() as connection:
                await connection.execute("ALTER TABLE fetch_hosts RENAME TO away")
            while not first._is_after_fault:
                await asyncio.sleep(0.02)
            for limits in (first, second):
                with pytest.raises(psycopg.errors.UndefinedTable):
                    await use(limits, host="other.example.com")
            # The permit expires meanwhile, and the other process is the first to draw.
            await shift(db, "-1 day", table="away")
            async with db.connection() as connection:
                await connection.execute("ALTER TABLE away RENAME TO fetch_hosts")
            waiting = asyncio.create_task(use(second))
            while not (await row_of(db))["held"]:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.1)
            assert not waiting.done(), "it has the permit of another process that renewed its own"
            permit.report(Outcome.OK)
        await waiting


async def shift(db: Database, by: str, *, table: str = "fetch_hosts") -> None:
    """Move all times of the host back."""
    async with db.connection() as connection:
        await connection.execute(
            f"UPDATE {table}"
            "   SET sent_at = sent_at + %(by)s::interval, paused_until = paused_until + %(by)s::interval,"
            "       held = ARRAY(SELECT each + (extract(epoch FROM %(by)s::interval) * 1000000)::bigint"
            "                      FROM unnest(held) AS each)",
            {"by": by},
        )


async def test_a_host_that_asks_for_it_is_left_alone_by_all_processes(process: StartLimits, db: Database) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, max_wait_s=3)
    first, second = await process(policy), await process(policy)
    await use(second)
    await use(first, Outcome.SLOW_DOWN, retry_after_s=3600)
    for limits in (first, second):
        with pytest.raises(HostPaused) as paused:
            await use(limits)
        assert 3500 < paused.value.wait_s <= 3600
        assert paused.value.by_retry_after
        assert abs(paused.value.until.timestamp() - datetime.now(UTC).timestamp() - 3600) < 60
        await use(limits, host="other.example.com")
    await use(first, Outcome.OK, host="other.example.com", retry_after_s=None)
    await shift(db, "-3590 seconds")
    with pytest.raises(HostPaused):
        await use(second)
    await shift(db, "-11 seconds")
    await use(first)
    await use(second)


async def test_a_shorter_pause_does_not_end_a_longer_one(process: StartLimits) -> None:
    limits = await process(HostPolicy(first_rate=1e5, highest_rate=1e5, max_wait_s=3, send_within_s=60))
    async with limits.permit(HOST) as one, limits.permit(HOST) as other:
        one.report(Outcome.SLOW_DOWN, 3600)
        other.report(Outcome.SLOW_DOWN, 10)
    with pytest.raises(HostPaused) as paused:
        await use(limits)
    assert paused.value.wait_s > 3500


async def test_a_permit_that_was_drawn_before_a_pause_is_void_soon(process: StartLimits) -> None:
    """A caller that was slow to connect draws another permit before it sends."""
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, max_wait_s=3, send_within_s=0.05)
    first, second = await process(policy), await process(policy)
    async with second.permit(HOST) as late:
        await use(first, Outcome.SLOW_DOWN, retry_after_s=3600)
        await asyncio.sleep(0.06)
        with pytest.raises(HostPaused):
            await late.ready()


async def test_whoever_was_slow_to_connect_waits_for_one_that_came_between(process: StartLimits, db: Database) -> None:
    """It waits longer than for a first permit: it has a connection, and a retry could be as unlucky."""
    policy = HostPolicy(first_rate=0.1, highest_rate=0.1, max_wait_s=5, send_within_s=0.05)
    first, second = await process(policy), await process(policy)
    async with asyncio.timeout(60), first.permit(HOST) as late:
        await shift(db, "-20 seconds")
        await use(second)
        await asyncio.sleep(0.06)
        await late.ready()


async def test_a_slow_connection_at_a_low_rate_loses_no_time(process: StartLimits) -> None:
    policy = HostPolicy(first_rate=0.01, lowest_rate=0.01, highest_rate=0.01, max_wait_s=1, send_within_s=0.05)
    limits = await process(policy)
    async with asyncio.timeout(60), limits.permit(HOST) as permit:  # the next request is due after 105 s
        await asyncio.sleep(0.06)
        await permit.ready()


async def test_a_time_at_which_nothing_was_sent_is_the_host_s_again(db: Database) -> None:
    table = HostTable(db, HostPolicy(first_rate=1, highest_rate=1))
    first = await table.draw(HOST, HostReport(), wants=True)
    assert first.permit is not None
    unused = HostReport(released=[first.permit], unsent=first.sending)
    assert (await table.draw(HOST, HostReport(), wants=True)).permit is None
    used = await table.draw(HOST, unused, wants=True)
    assert used.permit is not None
    # Another request has drawn one since.
    late = await table.draw(HOST, unused, wants=True)
    assert (late.permit, late.due_s > 0) == (None, True)


async def test_each_request_under_a_permit_is_counted(process: StartLimits, db: Database) -> None:
    limits = await process()
    async with limits.permit(HOST) as permit:
        await permit.ready()
        drawn = (await row_of(db))["version"]
        await permit.ready()
        assert (await row_of(db))["version"] == drawn + 1
        assert len((await row_of(db))["held"]) == 1
    await limits.close()
    assert (await row_of(db))["held"] == []


async def test_who_gives_up_waiting_keeps_no_permit(process: StartLimits, db: Database) -> None:
    limits, other = await process(), await process()
    await use(other)  # the host has a row
    async with db.transaction() as tx:
        await tx.execute("LOCK TABLE fetch_hosts IN EXCLUSIVE MODE")
        drawing = asyncio.create_task(use(limits))
        assert await comes_to_wait(drawing, db)
        drawing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await drawing
    await limits.close()
    assert (await row_of(db))["held"] == []
    await use(other)


async def test_a_permit_whose_replacement_fails_is_given_back(process: StartLimits, db: Database) -> None:
    limits = await process()
    async with limits.permit(HOST) as permit, db.connection() as connection:
        await permit.ready()
        await connection.execute("ALTER TABLE fetch_hosts RENAME TO away")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await permit.ready()
        await connection.execute("ALTER TABLE away RENAME TO fetch_hosts")
        assert len((await row_of(db))["held"]) == 1
    assert (await row_of(db))["held"] == []


async def test_hosts_that_two_processes_meet_at_once_are_made_once(process: StartLimits, db: Database) -> None:
    """The second waits for the row of the first, and draws again instead of overwriting it."""
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=0)
    first, second = await process(policy), await process(policy)
    values = HostTable(db, policy).values_of(HOST, HostReport(), 0, wants=True)
    async with db.transaction() as tx:
        await tx.execute(_SQL["add"], values)
        await tx.execute(_SQL["draw"], values)
        waiting = asyncio.create_task(use(second))
        assert await comes_to_wait(waiting, db, behind=tx)
    with pytest.raises(HostPaused):
        await waiting
    with pytest.raises(HostPaused):
        await use(first)
    assert len((await row_of(db))["held"]) == 1


async def test_the_table_changes_rates_as_the_function_does(db: Database) -> None:
    policy = HostPolicy(first_rate=2, lowest_rate=0.5, highest_rate=9, step=3)
    table, rate = HostTable(db, policy), 2.0
    story = [*[Outcome.OK] * 30, Outcome.FAILED, *[Outcome.SLOW_DOWN] * 7, *[Outcome.OK] * 3, Outcome.SLOW_DOWN]
    await table.draw(HOST, HostReport(), wants=False)
    seen = set()
    for outcome in story:
        change = rate_change(rate, outcome, policy)
        rate = change.applied_to(rate, policy)
        reply = await table.draw(HOST, HostReport(change=change, counts={outcome: 1}), wants=False)
        assert reply.rate == pytest.approx(rate)
        seen.add(round(rate, 3))
    assert {0.5, 9.0} <= seen
    both = RateChange(5, 4)
    reply = await table.draw(HOST, HostReport(change=both), wants=False)
    assert reply.rate == both.applied_to(rate, policy)
    row = await row_of(db)
    assert [row[f"{name}_count"] for name in ("ok", "slow_down", "failed")] == [33, 8, 1]


async def test_a_clock_that_was_set_back_does_not_stop_a_host(process: StartLimits, db: Database) -> None:
    limits = await process()
    await use(limits)
    await shift(db, "1 day")
    await use(limits)


async def test_a_database_that_is_away_is_told_and_what_was_held_is_given_back_later(
    process: StartLimits, db: Database
) -> None:
    limits = await process()
    async with limits.permit(HOST):
        async with db.connection() as connection:
            await connection.execute("ALTER TABLE fetch_hosts RENAME TO away")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await use(limits)
    async with db.connection() as connection:
        await connection.execute("ALTER TABLE away RENAME TO fetch_hosts")
    async with asyncio.timeout(60):
        while (await row_of(db))["held"]:
            await asyncio.sleep(0.05)
    await use(limits)


async def test_hosts_that_nobody_asks_are_forgotten(process: StartLimits, db: Database) -> None:
    limits = await process()
    await use(limits, host="paused.example.com")
    await use(limits, Outcome.SLOW_DOWN, host="paused.example.com", retry_after_s=3600)
    await use(limits)
    await limits.close()
    now = datetime.now(UTC) + timedelta(minutes=1)
    for idle, forgotten in ((timedelta(hours=1), 0), (timedelta(0), 1)):
        async with db.transaction() as tx:
            assert await forget_hosts(tx, now, 100, idle=idle) == forgotten
    assert await row_of(db) == {}


async def test_a_caller_does_not_overtake_those_that_wait(process: StartLimits) -> None:
    policy = HostPolicy(first_rate=1e5, highest_rate=1e5, at_a_time=1, max_wait_s=60)
    first, second = await process(policy), await process(policy)
    order: list[int] = []

    async def request(number: int) -> None:
        async with first.permit(HOST):
            order.append(number)

    async with asyncio.timeout(120):
        async with second.permit(HOST):
            earlier = asyncio.create_task(request(0))
            while not first._waiting[HOST]:
                await asyncio.sleep(0)
            await asyncio.sleep(0.5)  # its next attempt is a while off
        await request(1)
        await earlier
    assert order == [0, 1]
    assert first._waiting == {}

"""CleanUp runs its steps slice by slice, in a job of its schedule."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

from classifeed_common.db import Tx
from classifeed_jobs import Begin, CleanUp, Scheduler, Slice, Worker, until_nothing_is_left

from ..conftest import Bench


async def take(tx: Tx, at: datetime, limit: int) -> int:
    sql = "DELETE FROM leaves WHERE ctid = ANY(ARRAY(SELECT ctid FROM leaves WHERE fell_at < %s LIMIT %s))"
    return (await tx.execute(sql, (at, limit))).rowcount


async def test_the_schedule_of_the_service_runs_it_by_the_clock_of_the_database(bench: Bench) -> None:
    await bench.execute("CREATE TABLE leaves (fell_at timestamptz)")
    await bench.execute("INSERT INTO leaves SELECT now() - make_interval(secs => s) FROM generate_series(1, 25) s")
    await bench.execute("INSERT INTO leaves VALUES (now() + interval '1 hour')")
    cursors: list[Any] = []

    async def count_to_three(begin: Begin, _at: datetime, cursor: Any) -> Slice:
        cursors.append(cursor)
        async with begin() as tx:
            await tx.execute("SELECT 1")
        return Slice(next=(cursor or 0) + 1 if (cursor or 0) < 2 else None)

    clean_up = CleanUp("t.clean-up", [until_nothing_is_left(take, limit=10), count_to_three], every_s=1)
    roles: list[Worker | Scheduler] = [
        Worker(bench.db, bench.store, clean_up.tasks(), queues={clean_up.name: 1}),
        Scheduler(bench.db, bench.store, period_s=0.1, own=[clean_up.schedule]),
    ]
    async with AsyncExitStack() as stack:
        stop = asyncio.Event()
        running = [asyncio.create_task(role.run(stop)) for role in roles]
        stack.callback(stop.set)
        async with asyncio.timeout(120):
            while not await bench.value("SELECT count(*) FROM dl_jobs_done WHERE status = 'succeeded'"):
                await asyncio.sleep(0.02)
        stop.set()
        await asyncio.gather(*running)
    assert await bench.value("SELECT count(*) FROM leaves") == 1, "what is younger than the clock stays"
    assert cursors[:3] == [None, 1, 2]
    assert await bench.value("SELECT count(*) FROM dl_schedules") == 1


async def test_the_clock_can_be_given(bench: Bench) -> None:
    await bench.execute("CREATE TABLE leaves (fell_at timestamptz)")
    fell = "'2020-01-01'::timestamptz + s * interval '1 day'"
    await bench.execute(f"INSERT INTO leaves SELECT {fell} FROM generate_series(0, 9) s")
    clean_up = CleanUp("t.clean-up", [until_nothing_is_left(take, limit=2)])
    assert await clean_up.run(bench.db, datetime(2020, 1, 6, tzinfo=UTC)) == 5
    assert await clean_up.run(bench.db, datetime(2020, 1, 6, tzinfo=UTC)) == 0
    assert await bench.value("SELECT count(*) FROM leaves") == 5


async def test_rows_are_deleted_by_their_age(bench: Bench) -> None:
    await bench.execute("CREATE TABLE leaves (fell_at timestamptz)")
    fell = "'2020-01-01'::timestamptz + s * interval '1 day'"
    await bench.execute(f"INSERT INTO leaves SELECT {fell} FROM generate_series(0, 9) s")
    statement = """DELETE FROM leaves
        WHERE ctid = ANY(ARRAY(SELECT ctid FROM leaves WHERE fell_at < %(before)s LIMIT %(limit)s))"""
    clean_up = CleanUp.by_age("t.clean-up", {statement: timedelta(days=2)})
    assert await clean_up.run(bench.db, datetime(2020, 1, 8, tzinfo=UTC)) == 5
    assert await bench.value("SELECT min(fell_at) = '2020-01-06' FROM leaves")

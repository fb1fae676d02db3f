"""A row that makes a batch statement fail, of each kind and for each statement, blocks no other job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from structlog.testing import capture_logs

from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_jobs import JobAdmin, JobContext, JobFilter, QueueLimits, Reaper, Schedule, Scheduler, Schedules

from ..conftest import Bench, until

_RANDOM = "(SELECT string_agg(md5(random()::text || i), '') FROM generate_series(1, 250) AS i)"
_DIGITS = "('{\"n\": ' || repeat('9', 5000) || '}')::jsonb"
KINDS = {
    "long lock key": f"lock_key = {_RANDOM}",
    "long partition key": f"partition_key = {_RANDOM}",
    "args are a list": "args = '[1]'",
    "args with 5,000 digits": f"args = {_DIGITS}",
    "args nested 3,000 deep": "args = ('{\"a\": ' || repeat('[', 3000) || repeat(']', 3000) || '}')::jsonb",
    "args lost on disk": f"args = jsonb_build_object('lost', {_RANDOM})",
    "row that cannot be deleted": f"args = jsonb_build_object('stuck', {_RANDOM})",
    "checkpoint with 5,000 digits": f"checkpoint = {_DIGITS}",
    "progress is a list": "progress = '[1]'",
    "trace is a text": "trace_context = '\"x\"'",
    "created at infinity": "created_at = 'infinity'",
    "attempts used up": "attempt = 2147483647, max_attempts = NULL",
    "claims used up": "claim_no = 2147483647",
    "deaths used up": "worker_deaths = 2147483647",
}
Plant = Callable[[Bench, str], Awaitable[UUID]]


async def _live(bench: Bench, change: str, **columns: str) -> UUID:
    given = {"queue": "'q'", "task": "'noop'"} | columns
    names, values = ", ".join(given), ", ".join(given.values())
    job_id: UUID = await bench.value(f"INSERT INTO dl_jobs ({names}) VALUES ({values}) RETURNING job_id")
    await _poison(bench, "dl_jobs", job_id, change)
    return job_id


async def _poison(bench: Bench, table: str, job_id: UUID, change: str) -> None:
    try:
        await bench.execute(f"UPDATE {table} SET {change} WHERE job_id = '{job_id}'")
    except psycopg.errors.ProgramLimitExceeded:
        pytest.skip("PostgreSQL refuses the row itself")
    if "jsonb_build_object" in change:
        chunks = await bench.value(
            "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = "
            f"(SELECT tableoid FROM {table} WHERE job_id = '{job_id}')"
        )
        async with bench.db.transaction() as tx:
            await tx.execute("SET LOCAL allow_system_table_mods = on")
            for kind, sql in (("r", f"DELETE FROM {chunks}"), ("t", "SELECT")):
                await tx.execute(f"UPDATE pg_class SET relkind = '{kind}' WHERE oid = '{chunks}'::regclass")
                await tx.execute(sql)
        if "lost" in change:
            async with bench.db.connection() as connection:
                await connection.execute(f"VACUUM {table}")


async def _ready(bench: Bench, change: str) -> UUID:
    return await _live(bench, change)


async def _keyed(bench: Bench, change: str) -> UUID:
    for number in range(3):
        await bench.enqueue(lock_key=f"k{number}")
    return await _live(bench, change)


async def _fair(bench: Bench, change: str) -> UUID:
    for number in range(3):
        await bench.enqueue(partition_key=f"p{number}")
    return await _live(bench, change, partition_key="'p'")


async def _limited(bench: Bench, change: str) -> UUID:
    await JobAdmin(bench.db, bench.store).set_limits("q", QueueLimits(max_running=2), by="test")
    return await _live(bench, change)


async def _due(bench: Bench, change: str) -> UUID:
    return await _live(bench, change, waits_for="'time'")


async def _blocked(bench: Bench, change: str) -> UUID:
    """Insert a damaged job that waits for the lock key of a running job."""
    await bench.enqueue("hold", lock_key="held")
    if "lock_key" in change:
        change = "priority = 1"  # its key is held
    return await _live(bench, change, waits_for="'key'", lock_key="'held'", priority="99")


async def _completing(bench: Bench, change: str) -> UUID:
    """Insert a job that damages its own row while it runs."""
    job_id: UUID = await bench.enqueue("spoil", {"change": change})
    return job_id


async def _lost(bench: Bench, change: str) -> UUID:
    await bench.execute("INSERT INTO dl_workers (worker_id, queues, renewed_at) VALUES ('dead', '{q}', 'yesterday')")
    held = {"status": "'running'", "claimed_by": "'dead'", "attempt": "1", "claim_no": "1"}
    await _live(bench, "priority = 1", **held)
    return await _live(bench, change, **held)


async def _retried(bench: Bench, change: str) -> UUID:
    ids = []
    for _ in range(3):
        ids.append(await bench.enqueue())
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, ids[-1])
    await bench.execute("UPDATE dl_jobs_done SET status = 'failed'")
    await _poison(bench, "dl_jobs_done", ids[1], change)
    await JobAdmin(bench.db, bench.store).retry_failed(JobFilter(queue="q"), by="test")
    return UUID(int=ids[1].int)


STAGES: dict[str, Plant] = {
    "ready": _ready,
    "keyed": _keyed,
    "fair": _fair,
    "limited": _limited,
    "due": _due,
    "blocked": _blocked,
    "completing": _completing,
    "lost": _lost,
    "retried": _retried,
}
_ALWAYS = {
    ("long lock key", "ready"),
    ("args with 5,000 digits", "ready"),
    ("long lock key", "completing"),
    ("deaths used up", "lost"),
    ("long partition key", "retried"),
}


# A campaign tests each kind in each stage; by default, three kinds per stage and those of `_ALWAYS`.
_CASES = [
    pytest.param(kind, stage, id=f"{kind}-{stage}")
    for number, kind in enumerate(KINDS)
    for offset, stage in enumerate(STAGES)
    if IS_LONG or (number - offset) % 5 == 0 or (kind, stage) in _ALWAYS
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stage"), _CASES)
async def test_poisoned_row_stops_no_other_job(bench: Bench, kind: str, stage: str) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    @bench.registry.register("hold")
    async def hold(ctx: JobContext, args: dict[str, Any]) -> None: ...

    @bench.registry.register("spoil")
    async def spoil(ctx: JobContext, args: dict[str, Any]) -> None:
        await _poison(bench, "dl_jobs", ctx.job_id, args["change"])

    poisoned = await STAGES[stage](bench, KINDS[kind])
    others = [await bench.enqueue() for _ in range(3)]
    with capture_logs() as lines:
        async with running(Reaper(bench.db, bench.registry)), bench.working(4):
            assert await bench.ended(*others, within_s=30) == ["succeeded"] * 3

            async def nothing_waits() -> bool:
                return bool(await bench.value("SELECT count(*) = 0 FROM dl_jobs WHERE available_at < 'infinity'"))

            await until(nothing_waits, within_s=30)
    if await bench.value("SELECT count(*) FROM dl_jobs_done WHERE job_id = %s AND reason = 'UNREADABLE'", poisoned):
        why = await bench.value("SELECT error FROM dl_jobs_done WHERE job_id = %s", poisoned)
        assert why
        # The statement that met it set it aside, without requeuing it first.
        is_lost = stage != "completing" or kind == "claims used up"
        assert is_lost or "returned" not in await bench.kinds(poisoned)
    page = await JobAdmin(bench.db, bench.store).list_jobs(JobFilter())
    assert {job.job_id for job in page.jobs} >= set(others)
    assert not [line for line in lines if line["event"] == "worker.runner.fault"]


@pytest.mark.parametrize(
    "change",
    [
        f"args = {_DIGITS}",
        "args = '[1]'",
        f"lock_key = {_RANDOM}",
        "every_sec = NULL, cron = 'no'",
        "next_slot = '-infinity'",
    ],
)
async def test_poisoned_schedule_stops_no_other_one(bench: Bench, change: str) -> None:
    schedules = Schedules()
    for name in ("a", "bad", "c"):
        async with bench.db.transaction() as tx:
            await schedules.put(tx, Schedule(name, "q", "noop", every_s=3600))
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - interval '1 hour'")
    await bench.execute(f"UPDATE dl_schedules SET {change} WHERE name = 'bad'")
    scheduler = Scheduler(bench.db, bench.store)
    with capture_logs():
        await scheduler._poll()
    made = await bench.execute("SELECT payload ->> 'schedule' FROM dl_job_events")
    assert {name for (name,) in made} >= {"a", "c"}
    assert len((await JobAdmin(bench.db, bench.store).list_schedules()).schedules) == 3

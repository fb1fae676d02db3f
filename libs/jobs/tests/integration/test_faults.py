"""Worker processes that are stopped past their lease, killed, and a PostgreSQL that restarts."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from classifeed_common.db import Database
from classifeed_common.embedded.postgres import EmbeddedPostgres
from classifeed_jobs import Fixed, JobContext, Reaper

from .conftest import Bench, running, until

_SCRIPT = str(Path(__file__).with_name("worker_process.py"))
_TABLES = """
CREATE TABLE marks (job_id uuid, claim_no integer, mark text);
CREATE TABLE effects (job_id uuid, claim_no integer);
CREATE TABLE intervals (job_id uuid, claim_no integer, lock_key text, began timestamptz, ended timestamptz);
"""


class Processes:
    """Worker processes of one test; all of them are gone at its end."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.alive: list[asyncio.subprocess.Process] = []

    async def start(self, *broken: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(sys.executable, _SCRIPT, self._dsn, *broken)
        self.alive.append(process)
        return process

    async def end(self, process: asyncio.subprocess.Process, how: signal.Signals) -> None:
        process.send_signal(how)
        await process.wait()
        self.alive.remove(process)


@pytest.fixture
async def processes(bench: Bench) -> AsyncIterator[Processes]:
    await bench.execute(_TABLES)
    made = Processes(bench.db.dsn)
    yield made
    for process in list(made.alive):
        await made.end(process, signal.SIGKILL)


async def _zombie_has_no_say(bench: Bench, processes: Processes, has_effect: bool, *broken: str) -> None:
    """A process is stopped past its lease; its job is taken over; it comes back while the second run is under way."""

    async def mark(claim_no: int, mark: str) -> None:
        await bench.execute("INSERT INTO marks (job_id, claim_no, mark) VALUES (%s, %s, %s)", job_id, claim_no, mark)

    def marked(claim_no: int, mark: str) -> Callable[[], Any]:
        async def is_there() -> bool:
            sql = "SELECT count(*) > 0 FROM marks WHERE job_id = %s AND claim_no = %s AND mark = %s"
            return bool(await bench.value(sql, job_id, claim_no, mark))

        return is_there

    job_id = await bench.enqueue("zombie", {"has_effect": has_effect}, lock_key="l", lease_ttl_s=2)
    first = await processes.start(*broken)
    await until(marked(1, "started"))
    first.send_signal(signal.SIGSTOP)
    async with running(Reaper(bench.db)):
        second = await processes.start()
        await until(marked(2, "started"))
        late_s = await bench.value(
            "SELECT extract(epoch FROM e.at - w.renewed_at)::float8 - 2 FROM dl_job_events e JOIN dl_workers w "
            "USING (worker_id) WHERE e.job_id = %s AND e.kind = 'requeued'",
            job_id,
        )
        # At its expiry, not at the reaper's next period of ten seconds.
        assert 0 <= late_s < 1
        await mark(1, "go")
        first.send_signal(signal.SIGCONT)
        await until(marked(1, "over"))
        await processes.end(first, signal.SIGTERM)
        job = await bench.job(job_id)
        assert (job.status, job.claim_no) == ("running", 2), "a stale end was heard"
        await mark(2, "go")
        assert await bench.ended(job_id) == ["succeeded"]
    await processes.end(second, signal.SIGTERM)
    assert (await bench.job(job_id)).result == "claim 2"
    assert await bench.execute("SELECT claim_no FROM effects") == ([(2,)] if has_effect else []), "a stale effect"
    assert await bench.kinds(job_id) == ["queued", "picked", "heartbeat_lost", "requeued", "picked", "succeeded"]


@pytest.mark.slow
@pytest.mark.parametrize("has_effect", [True, False])
async def test_process_stopped_past_its_lease_can_neither_have_an_effect_nor_finish(
    bench: Bench, processes: Processes, has_effect: bool
) -> None:
    await _zombie_has_no_say(bench, processes, has_effect)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_effect", "broken", "seen"), [(True, "guard", "a stale effect"), (False, "finish", "a stale end was heard")]
)
async def test_naive_ways_fail_the_zombie_test(
    bench: Bench, processes: Processes, has_effect: bool, broken: str, seen: str
) -> None:
    with pytest.raises(AssertionError, match=seen):
        await _zombie_has_no_say(bench, processes, has_effect, broken)


async def _campaign(bench: Bench, processes: Processes, *broken: str) -> None:
    """SIGKILL and SIGSTOP past the lease at random under load; keys never overlap, each effect is there once."""
    rng = random.Random(7)
    ids = [
        await bench.enqueue(
            "load",
            {"sleep_s": rng.uniform(0, 0.3)},
            lock_key=f"key {n % 20}" if n % 3 else None,
            lease_ttl_s=2,
            max_attempts=None,
        )
        for n in range(400)
    ]
    for _ in range(3):
        await processes.start(*broken)
    rounds = 0

    async def all_ended() -> bool:
        return bool(await bench.value("SELECT count(*) = 0 FROM dl_jobs"))

    async with running(Reaper(bench.db, reaper_period_s=0.5)):
        while not await all_ended() and rounds < 8:
            await asyncio.sleep(rng.uniform(0.3, 1.2))
            rounds += 1
            victim = rng.choice(processes.alive)
            if rounds % 2:
                await processes.end(victim, signal.SIGKILL)
                await processes.start(*broken)
            else:
                victim.send_signal(signal.SIGSTOP)
                await asyncio.sleep(3.0)
                victim.send_signal(signal.SIGCONT)
        await until(all_ended, within_s=60)
    for process in list(processes.alive):
        await processes.end(process, signal.SIGTERM)
    overlaps = await bench.execute(
        "SELECT a.lock_key, a.job_id, b.job_id FROM intervals a JOIN intervals b ON a.lock_key = b.lock_key "
        "AND (a.job_id, a.claim_no) <> (b.job_id, b.claim_no) AND b.began > a.began AND b.began < a.ended"
    )
    assert overlaps == [], "keys overlap"
    assert rounds >= 3
    assert await bench.value("SELECT count(*) FROM dl_jobs_done WHERE status = 'succeeded'") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'succeeded'") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'requeued'") > 0
    assert await bench.execute("SELECT job_id FROM effects GROUP BY job_id HAVING count(*) <> 1") == []
    assert await bench.value("SELECT count(*) FROM effects") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0


@pytest.mark.slow
async def test_killed_workers_lose_no_job_and_double_no_effect(bench: Bench, processes: Processes) -> None:
    await _campaign(bench, processes)


@pytest.mark.slow
async def test_claims_that_ignore_lock_keys_fail_the_campaign(bench: Bench, processes: Processes) -> None:
    with pytest.raises(AssertionError, match="keys overlap"):
        await _campaign(bench, processes, "keys")


@pytest.fixture
async def durable_bench(bench: Bench) -> AsyncIterator[Bench]:
    """Commits that outlive a killed server; the tests' server otherwise answers before it has written."""
    dsn = make_conninfo(bench.db.dsn, options="-c synchronous_commit=on")
    db = Database(dsn, schema="test", application_name="durable")
    await db.open()
    yield Bench(db)
    await db.close()


@pytest.mark.slow
async def test_postgresql_restarts_under_load(durable_bench: Bench, postgres: EmbeddedPostgres) -> None:
    bench = durable_bench
    await bench.execute("CREATE TABLE effects (job_id uuid)")

    @bench.registry.register("load", backoff=Fixed(0.1))
    async def load(ctx: JobContext, args: dict[str, Any]) -> None:
        await asyncio.sleep(0.02)
        async with ctx.db.transaction() as tx:
            await ctx.guard(tx)
            await tx.execute("INSERT INTO effects VALUES (%s)", [ctx.job_id])

    ids = [await bench.enqueue("load", lock_key=f"k{n % 50}", max_attempts=None, lease_ttl_s=3) for n in range(300)]

    async def some_done() -> bool:
        return bool(await bench.value("SELECT count(*) > 20 FROM dl_jobs_done"))

    async def all_done() -> bool:
        try:
            return bool(
                await bench.value("SELECT count(*) = %s FROM dl_jobs_done WHERE status = 'succeeded'", len(ids))
            )
        except psycopg.OperationalError:
            return False

    async with running(Reaper(bench.db, reaper_period_s=0.5)), bench.working(concurrency=8, heartbeat_s=0.5):
        await until(some_done)
        await asyncio.to_thread(postgres.kill)
        postgres.start()  # in this thread: the server is bound to the life of the one that starts it
        await until(all_done, within_s=40)
    assert await bench.value("SELECT count(DISTINCT job_id) FROM effects") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0

"""Worker processes that are killed or stopped for longer than their lease, and restarts of PostgreSQL.

A few rounds by default; 200 SIGKILLs and 20 restarts with CLASSIFEED_CAMPAIGN=long.
"""

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

from classifeed_common.db import Database
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_jobs import Fixed, JobContext, Reaper

from ..conftest import Bench, until

_ROUNDS = 400 if IS_LONG else 8  # every other one is a SIGKILL
_RESTARTS = 20 if IS_LONG else 1
_CAMPAIGN_TIMEOUT_S = 7200 if IS_LONG else 1200
_SCRIPT = str(Path(__file__).with_name("worker_process.py"))
_TABLES = """
CREATE TABLE marks (job_id uuid, claim_no integer, mark text);
CREATE TABLE effects (job_id uuid, claim_no integer);
CREATE TABLE intervals (job_id uuid, claim_no integer, lock_key text, began timestamptz, ended timestamptz);
"""


class Processes:
    """Worker processes of a test; all are stopped at its end."""

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
    """Stop a process for longer than its lease; it continues while another run of its job is active."""

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

    async def is_requeued() -> bool:
        return "requeued" in await bench.kinds(job_id)

    # At the expiry of the lease, not at the reaper's next poll an hour later.
    async with running(Reaper(bench.db, reaper_period_s=3600.0)):
        await until(is_requeued)
        late_s = await bench.value(
            "SELECT extract(epoch FROM e.at - w.renewed_at)::float8 - 2 FROM dl_job_events e JOIN dl_workers w "
            "USING (worker_id) WHERE e.job_id = %s AND e.kind = 'requeued'",
            job_id,
        )
        assert late_s >= 0
        # The second run keeps the job, even on a slow machine.
        await bench.execute("UPDATE dl_jobs SET lease_ttl_sec = 3600")
        second = await processes.start()
        await until(marked(2, "started"))
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
@in_campaigns
@pytest.mark.parametrize(
    ("has_effect", "broken", "seen"), [(True, "guard", "a stale effect"), (False, "finish", "a stale end was heard")]
)
async def test_naive_ways_fail_the_zombie_test(
    bench: Bench, processes: Processes, has_effect: bool, broken: str, seen: str
) -> None:
    with pytest.raises(AssertionError, match=seen):
        await _zombie_has_no_say(bench, processes, has_effect, broken)


async def _campaign(bench: Bench, processes: Processes, *broken: str) -> None:
    """Random SIGKILL and long SIGSTOP under load: runs of a key never overlap, and each effect happens once."""
    rng = random.Random(7)
    ids: list[Any] = []

    async def load(count: int) -> None:
        for n in range(count):
            job_id = await bench.enqueue(
                "load",
                {"sleep_s": rng.uniform(0, 0.3)},
                lock_key=f"key {n % (50 if IS_LONG else 20)}" if n % 3 else None,
                lease_ttl_s=2,
                max_attempts=None,
                max_worker_deaths=None,  # killed at random; no job is lost
            )
            ids.append(job_id)

    await load(400)
    for _ in range(4 if IS_LONG else 3):
        await processes.start(*broken)
    rounds = 0

    async def each_runs_some() -> bool:
        sql = (
            "SELECT count(DISTINCT split_part(claimed_by, ':', 2)) FROM dl_jobs "
            "WHERE status = 'running' AND split_part(claimed_by, ':', 2) = ANY(%s)"
        )
        alive = [str(process.pid) for process in processes.alive]
        return await bench.value(sql, alive) == len(alive) or await all_ended()

    async def all_ended() -> bool:
        return bool(await bench.value("SELECT count(*) = 0 FROM dl_jobs"))

    async with running(Reaper(bench.db, reaper_period_s=0.5)):
        while rounds < _ROUNDS and (rounds < 3 or IS_LONG or not await all_ended()):
            if (rounds < 3 or IS_LONG) and await bench.value("SELECT count(*) < 300 FROM dl_jobs"):
                await load(300)
            await until(each_runs_some)  # every stopped or killed process has running jobs
            await asyncio.sleep(rng.uniform(0.0, 0.3))
            rounds += 1
            victim = rng.choice(processes.alive)
            if rounds % 2:
                await processes.end(victim, signal.SIGKILL)
                await processes.start(*broken)
            else:
                victim.send_signal(signal.SIGSTOP)
                await asyncio.sleep(3.0)
                victim.send_signal(signal.SIGCONT)
        await until(all_ended, within_s=600)
    for process in list(processes.alive):
        await processes.end(process, signal.SIGTERM)
    overlaps = await bench.execute(
        "SELECT a.lock_key, a.job_id, b.job_id FROM intervals a JOIN intervals b ON a.lock_key = b.lock_key "
        "AND (a.job_id, a.claim_no) <> (b.job_id, b.claim_no) AND b.began > a.began AND b.began < a.ended"
    )
    assert overlaps == [], "keys overlap"
    assert await bench.value("SELECT count(*) FROM dl_jobs_done WHERE status = 'succeeded'") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'succeeded'") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'requeued'") > 0
    assert await bench.execute("SELECT job_id FROM effects GROUP BY job_id HAVING count(*) <> 1") == []
    assert await bench.value("SELECT count(*) FROM effects") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0


@pytest.mark.slow
@pytest.mark.timeout(_CAMPAIGN_TIMEOUT_S)
async def test_killed_workers_lose_no_job_and_double_no_effect(bench: Bench, processes: Processes) -> None:
    await _campaign(bench, processes)


@pytest.mark.slow
@pytest.mark.timeout(_CAMPAIGN_TIMEOUT_S)
@in_campaigns
async def test_claims_that_ignore_lock_keys_fail_the_campaign(bench: Bench, processes: Processes) -> None:
    with pytest.raises(AssertionError, match="keys overlap"):
        await _campaign(bench, processes, "keys")


@pytest.mark.slow
@pytest.mark.timeout(_CAMPAIGN_TIMEOUT_S)
async def test_postgresql_restarts_under_load(bench: Bench, postgres: EmbeddedPostgres) -> None:
    await bench.execute("CREATE TABLE effects (job_id uuid)")

    @bench.registry.register("load", backoff=Fixed(0.1))
    async def load(ctx: JobContext, args: dict[str, Any]) -> None:
        await asyncio.sleep(0.02)
        async with ctx.db.transaction() as tx:
            await ctx.guard(tx)
            await tx.execute("INSERT INTO effects VALUES (%s)", [ctx.job_id])

    ids: list[Any] = []

    async def enqueue_more() -> None:
        ids.extend(
            [await bench.enqueue("load", lock_key=f"k{n % 50}", max_attempts=None, lease_ttl_s=3) for n in range(300)]
        )

    async def is_done(share: float) -> bool:
        try:
            done = await bench.value("SELECT count(*) FROM dl_jobs_done WHERE status = 'succeeded'")
        except psycopg.OperationalError:
            return False
        return bool(done >= share * len(ids))

    async with running(Reaper(bench.db, reaper_period_s=0.5)), bench.working(concurrency=8, heartbeat_s=0.5):
        for _ in range(_RESTARTS):
            await enqueue_more()
            await until(lambda: is_done(1 - 250 / len(ids)))
            await asyncio.to_thread(postgres.kill)
            postgres.start(300)  # in this thread: the server ends with the thread that starts it
            await until(lambda: is_done(1), within_s=300)
    assert await bench.value("SELECT count(DISTINCT job_id) FROM effects") == len(ids)
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0


async def test_killed_back_ends_are_replaced_and_the_worker_goes_on(bench: Bench) -> None:
    """All connections of the worker (LISTEN, lease, pool) are terminated at once, repeatedly."""

    @bench.registry.register("load", backoff=Fixed(0.05))
    async def load(ctx: JobContext, args: dict[str, Any]) -> None:
        await asyncio.sleep(0.01)

    own = Database(bench.db.dsn, schema="test", application_name="own")  # the connection of the test itself
    await own.open()
    apart = Bench(own)
    async with bench.working(claim_backoff_s=1.0, heartbeat_s=0.5), running(Reaper(bench.db, reaper_period_s=0.5)):
        ids = []
        for _ in range(3):
            ids += [await apart.enqueue("load", max_attempts=None, lease_ttl_s=3) for _ in range(30)]
            with psycopg.connect(bench.db.dsn, autocommit=True) as killer:
                killer.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND application_name <> 'own' AND pid <> pg_backend_pid() "
                    "AND backend_type = 'client backend'"
                )
        assert set(await apart.ended(*ids)) == {"succeeded"}
    await own.close()


async def test_full_pool_costs_no_lease(bench: Bench) -> None:
    """Handlers hold every pooled connection: the lease is renewed anyway, and their jobs are not requeued."""
    full = asyncio.Event()
    release = asyncio.Event()
    held = 0

    @bench.registry.register("hog")
    async def hog(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal held
        async with ctx.db.connection():
            held += 1
            if held == 4:
                full.set()
            await release.wait()

    own = Database(bench.db.dsn, schema="test", application_name="own")
    await own.open()
    try:
        async with bench.working(heartbeat_s=0.05), running(Reaper(own, reaper_period_s=0.2)):
            ids = [await bench.enqueue("hog") for _ in range(4)]
            await full.wait()
            apart = Bench(own)
            renewed = "SELECT renewed_at FROM dl_workers"

            async def is_renewed() -> bool:
                return bool(await apart.value(renewed) > before)

            for _ in range(5):
                before = await apart.value(renewed)
                await until(is_renewed)
            assert await apart.value("SELECT count(*) FROM dl_job_events WHERE kind = 'heartbeat_lost'") == 0
            release.set()
            assert set(await apart.ended(*ids)) == {"succeeded"}
    finally:
        await own.close()
    assert [(await bench.job(job_id)).attempt for job_id in ids] == [1] * 4

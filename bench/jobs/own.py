"""Promises that only this engine makes, each measured in this process on an empty database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.jobs.engines.ours import Engine
from classifeed_jobs import JobRequest, JobStore, Notifier, Reaper, Registry
from classifeed_jobs.claim.fetch import QueueCursor, claim_jobs
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.session import Session

_WORKER = "bench-claimant"
_PRODUCERS = 8
_WINDOW_S = 1.0
_SETTLE_S = 12.0  # a back end reports its counts within ten seconds
_ARCHIVE = """
INSERT INTO dl_jobs_done (job_id, queue, task, args, priority, available_at, status, attempt, claim_no, max_attempts,
    lease_ttl_sec, cancel_requested, created_at, started_at, finished_at)
SELECT dl_new_job_id(), 'bench', 'noop', '{}', 100, now(), 'succeeded', 1, 1, 5, 60, false, now(), now(), now()
FROM generate_series(1, %s)
"""
_DELAY = """
INSERT INTO dl_jobs (queue, task, waits_for, available_at)
SELECT 'bench', 'noop', 'time', now() + interval '1 day' FROM generate_series(1, %s)
"""


async def measure_enqueue(dsn: str, repeats: int) -> dict[str, Any]:
    """Measure enqueued jobs a second, one in a transaction, by eight producers, for each kind of notification.

    The kinds are none, the notifier and the triggers.
    """
    engine = Engine()
    await engine.open(dsn)
    notifier = Notifier(engine.db)
    woken = JobStore(notifier=notifier)

    async def without_notification() -> None:
        async with engine.db.transaction() as tx:
            await tx.execute("SET LOCAL dl_jobs.notify = off")
            await engine.store.enqueue(tx, "bench", "noop", {})

    async def by_notifier() -> None:
        async with notifier.transaction() as tx:
            await woken.enqueue(tx, "bench", "noop", {})

    async def by_trigger() -> None:
        async with engine.db.transaction() as tx:
            await engine.store.enqueue(tx, "bench", "noop", {})

    rates: dict[str, list[float]] = {"nobody": [], "notifier": [], "trigger": []}
    async with engine.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        await _rate(without_notification)  # opens connections and plans the statements
        for _ in range(repeats):
            for name, enqueue in (("nobody", without_notification), ("notifier", by_notifier), ("trigger", by_trigger)):
                rates[name].append(await _rate(enqueue))
    await notifier.settled()
    await engine.close()
    return rates


async def measure_claims(dsn: str, done: int, delayed: int) -> dict[str, Any]:
    """Measure claims of ten jobs on empty and on full tables, and the time until a worker runs its first job."""
    engine = Engine()
    await engine.open(dsn)
    empty = await _claim_times(engine)
    async with engine.db.connection() as connection:
        await connection.execute("DELETE FROM dl_jobs")
        await connection.execute(_ARCHIVE, [done])
        await connection.execute(_DELAY, [delayed])
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    full = await _claim_times(engine)
    async with engine.db.connection() as connection:
        await connection.execute("DELETE FROM dl_jobs WHERE waits_for IS NULL")
    await engine.fill(1)
    started = time.perf_counter()
    began: list[float] = []
    registry = Registry()
    stop = asyncio.Event()

    @registry.register("noop")
    async def noop(_: Any, __: dict[str, Any]) -> None:
        began.append(time.perf_counter() - started)
        stop.set()

    await engine.worker(registry, 10).run(stop)
    await engine.close()
    return {"empty": empty, "full": full, "ready_s": began[0]}


async def measure_lock_keys(dsn: str, count: int, repeats: int) -> dict[str, list[float]]:
    """Measure jobs a second with a lock key for each job, and without lock keys."""
    engine = Engine()
    await engine.open(dsn)
    rates: dict[str, list[float]] = {"none": [], "keys": []}
    for _ in range(repeats):
        for side, found in rates.items():
            requests = [JobRequest("bench", "noop", lock_key=f"k{n}" if side == "keys" else None) for n in range(count)]
            async with engine.db.transaction() as tx:
                await engine.store.enqueue_many(tx, requests)
            started = time.perf_counter()
            await engine.drain(count, 100)
            found.append(count / (time.perf_counter() - started))
    await engine.close()
    return rates


async def measure_tenant(dsn: str, ahead: int) -> int:
    """Count claims of ten jobs until one has a tenant's only job, behind `ahead` jobs of another tenant."""
    engine = Engine()
    await engine.open(dsn)
    async with engine.db.transaction() as tx:
        await tx.execute(
            "INSERT INTO dl_jobs (queue, task, partition_key) SELECT 'bench', 'noop', 't1' FROM generate_series(1, %s)",
            [ahead],
        )
        small = await engine.store.enqueue(tx, "bench", "noop", {}, partition_key="t2")
    session = Session(engine.db)
    cursor = QueueCursor()
    cycles = 0
    found = False
    async with session.use() as connection:
        await ProcessLease(_WORKER, ["bench"]).register(connection)
        while not found:
            cycles += 1
            response = await claim_jobs(
                connection, worker_id=_WORKER, queue="bench", wanted=10, fresh_s=600.0, cursor=cursor
            )
            found = any(claim.job_id == small.job_id for claim in response.claims)
    await session.close()
    await engine.close()
    return cycles


async def measure_idle(dsn: str, seconds: float) -> float:
    """Measure transactions a second of a process with an idle worker and reaper."""
    engine = Engine()
    await engine.open(dsn)
    stop = asyncio.Event()
    working = asyncio.create_task(engine.worker(Registry(), 10).run(stop))
    reaping = asyncio.create_task(Reaper(engine.db).run(stop))
    await asyncio.sleep(_SETTLE_S)
    before = await _commits(engine)
    await asyncio.sleep(seconds)
    spent = await _commits(engine) - before
    stop.set()
    await asyncio.gather(working, reaping)
    await engine.close()
    return max(0.0, spent - 1) / seconds  # the reading before is one transaction


async def _commits(engine: Engine) -> int:
    async with engine.db.dedicated_connection() as connection:
        query = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        row = await (await connection.execute(query)).fetchone()
    assert row is not None
    return int(row[0])


async def _rate(enqueue: Callable[[], Awaitable[None]]) -> float:
    until = time.perf_counter() + _WINDOW_S

    async def produce() -> int:
        done = 0
        while time.perf_counter() < until:
            await enqueue()
            done += 1
        return done

    started = time.perf_counter()
    done = sum(await asyncio.gather(*(produce() for _ in range(_PRODUCERS))))
    return done / (time.perf_counter() - started)


async def _claim_times(engine: Engine) -> list[float]:
    await engine.fill(5_000)
    session = Session(engine.db)
    times: list[float] = []
    async with session.use() as connection:
        await ProcessLease(_WORKER, ["bench"]).register(connection)
        for _ in range(500):
            started = time.perf_counter()
            response = await claim_jobs(connection, worker_id=_WORKER, queue="bench", wanted=10, fresh_s=600.0)
            times.append(time.perf_counter() - started)
            assert len(response.claims) == 10
    await session.close()
    return times

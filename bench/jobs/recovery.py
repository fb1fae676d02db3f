"""Time until jobs run again after SIGKILL of a worker process, and after a restart of PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from bench.jobs.engines.ours import Engine
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_jobs import JobRequest

LEASE_S = 3
_RUNS = 20
_LOOK_S = 0.02
_LIMIT_S = 120.0
_WINDOW_S = 3.0


def measure_kill(dsn: str) -> float:
    """Measure the seconds from SIGKILL of the process that runs all jobs until another process runs all of them."""
    asyncio.run(_enqueue(dsn, JobRequest("bench", "wait", lease_ttl_s=LEASE_S, max_attempts=None), _RUNS))
    running = "SELECT count(*) FROM bench.dl_jobs WHERE status = 'running' AND claim_no >= %s"
    with psycopg.connect(dsn, autocommit=True) as connection, _worker(dsn, _RUNS) as first:
        _until(lambda: _value(connection, running, 1) == _RUNS)
        time.sleep(LEASE_S / 2)  # the interval of heartbeats follows from the lease of the jobs
        with _worker(dsn, _RUNS):
            time.sleep(2.0)  # the second worker listens by then
            at = time.perf_counter()
            first.kill()
            _until(lambda: _value(connection, running, 2) == _RUNS)
            return time.perf_counter() - at


def measure_restart(server: EmbeddedPostgres, dsn: str, count: int) -> dict[str, Any]:
    """Measure a restart of PostgreSQL: rates before and after, lost jobs, seconds from its return to a completion."""
    asyncio.run(_enqueue(dsn, JobRequest("bench", "noop"), count))
    with _worker(dsn, 100):
        with psycopg.connect(dsn, autocommit=True) as connection:
            _until(lambda: _left(connection) < count)
            before = _drain_rate(connection)
        server.stop()
        server.start()
        back = time.perf_counter()
        with psycopg.connect(dsn, autocommit=True) as connection:
            left = _left(connection)
            _until(lambda: _left(connection) < left)
            recovered_s = time.perf_counter() - back
            after = _drain_rate(connection)
            _until(lambda: _left(connection) == 0)
            ended = _value(connection, "SELECT count(*) FROM bench.dl_jobs_done WHERE status = 'succeeded'")
    return {"before_s": before, "after_s": after, "recovered_s": recovered_s, "lost": count - ended}


async def _enqueue(dsn: str, request: JobRequest, count: int) -> None:
    engine = Engine()
    await engine.open(dsn)
    async with engine.db.transaction() as tx:
        await engine.store.copy_many(tx, [request] * count)
    await engine.close()


@contextlib.contextmanager
def _worker(dsn: str, concurrency: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.jobs.worker", dsn, str(concurrency)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _drain_rate(connection: psycopg.Connection[Any]) -> float:
    started, left = time.perf_counter(), _left(connection)
    time.sleep(_WINDOW_S)
    return (left - _left(connection)) / (time.perf_counter() - started)


def _left(connection: psycopg.Connection[Any]) -> int:
    return _value(connection, "SELECT count(*) FROM bench.dl_jobs")


def _value(connection: psycopg.Connection[Any], query: str, *parameters: Any) -> int:
    row = connection.execute(query, parameters).fetchone()
    assert row is not None
    return int(row[0])


def _until(is_so: Any) -> None:
    limit = time.perf_counter() + _LIMIT_S
    while not is_so():
        if time.perf_counter() > limit:
            raise TimeoutError("the workers did not come back")
        time.sleep(_LOOK_S)

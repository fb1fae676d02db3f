"""Process for one measurement of one engine: `python -m bench.jobs.side ENGINE MEASURE DSN COUNT BATCH`."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from typing import Any

import psycopg
import structlog

from bench.jobs.engines import load

_PIECE = 5_000
_AHEAD = 20_000


async def measure_drain(name: str, dsn: str, count: int, batch: int) -> dict[str, Any]:
    """Measure no-op jobs a second: all are queued when the worker starts, and recorded as finished when it stops."""
    engine = load(name)
    await engine.open(dsn)
    await engine.fill(count)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("CHECKPOINT")
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    await engine.drain(count, batch)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    await engine.close()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"jobs_s": count / seconds, "cpu_us": cpu / count * 1e6, "knobs": engine.knobs}


async def measure_wake(name: str, dsn: str, count: int, _: int) -> dict[str, Any]:
    """Measure from the commit's response to the first line of the handler on an idle worker; measure commits, too."""
    engine = load(name)
    await engine.open(dsn)
    began: dict[int, float] = {}
    arrived = asyncio.Event()

    def started(number: int) -> None:
        began[number] = time.perf_counter()
        arrived.set()

    waits: list[float] = []
    commits: list[float] = []
    rng = random.Random(1)

    async def body() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("CREATE TABLE IF NOT EXISTS one_commit (number int, at timestamptz)")
            await asyncio.sleep(1.0)  # until the worker listens
            for number in range(count):
                at = time.perf_counter()
                await connection.execute("INSERT INTO one_commit VALUES (%s, clock_timestamp())", [number])
                commits.append(time.perf_counter() - at)
                await asyncio.sleep(rng.uniform(0.02, 0.05))
                arrived.clear()
                await engine.enqueue(number)
                at = time.perf_counter()
                async with asyncio.timeout(60):
                    while number not in began:
                        await arrived.wait()
                        arrived.clear()
                waits.append(began[number] - at)
                await asyncio.sleep(rng.uniform(0.02, 0.05))

    await engine.serve(started, body)
    await engine.close()
    return {"waits": waits, "commits": commits, "knobs": engine.knobs}


async def measure_pin(name: str, dsn: str, seconds: int, batch: int) -> dict[str, Any]:
    """Measure a busy worker before and for `seconds` after a transaction begins that stays open."""
    engine = load(name)
    await engine.open(dsn)
    ran = filled = 0
    rates: list[float] = []

    def started(_: int) -> None:
        nonlocal ran
        ran += 1

    async def supply(for_s: float) -> None:
        nonlocal filled
        at, before = time.perf_counter(), ran
        while time.perf_counter() < at + for_s:
            if filled - ran < _AHEAD:
                await engine.fill(_PIECE)
                filled += _PIECE
            else:
                await asyncio.sleep(0.01)
        rates.append((ran - before) / (time.perf_counter() - at))

    async def body() -> None:
        await supply(seconds / 30)  # opens connections and plans the statements
        await supply(seconds / 10)
        # Without the embedded server's timeout for idle transactions.
        options = "-c idle_in_transaction_session_timeout=0"
        async with await psycopg.AsyncConnection.connect(dsn, options=options) as forgotten:
            await forgotten.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await forgotten.execute("SELECT pg_current_xact_id()")
            await supply(seconds * 9 / 10)
            await supply(seconds / 10)
            await forgotten.rollback()

    await engine.serve(started, body, batch)
    await engine.close()
    return {"clean_s": rates[1], "pinned_s": rates[3], "jobs": ran, "knobs": engine.knobs}


_MEASURES = {"drain": measure_drain, "wake": measure_wake, "pin": measure_pin}


def main() -> None:
    """Measure once and print JSON."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout has the result only
    name, measure, dsn, count, batch = sys.argv[1:]
    print(json.dumps(asyncio.run(_MEASURES[measure](name, dsn, int(count), int(batch)))))


if __name__ == "__main__":
    main()

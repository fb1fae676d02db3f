"""classifeed_jobs: lease, fence, journal, real dispatch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from bench.jobs.engines import Started
from classifeed_common.db import Database
from classifeed_jobs import JobContext, JobRequest, JobStore, Registry, Worker, ddl
from classifeed_jobs.schema.ddl import VERSIONS

_PIECE = 5_000


class Engine:
    knobs = "concurrency = batch, prefetch 2, pool of 4, defaults otherwise"

    async def open(self, dsn: str) -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("CREATE SCHEMA IF NOT EXISTS bench")
        self.db = Database(dsn, schema="bench", application_name="bench", max_size=4)
        await self.db.open()
        self.store = JobStore()
        async with self.db.transaction() as tx:
            [(table,)] = await (await tx.execute("SELECT to_regclass('dl_jobs')")).fetchall()
            if table is None:
                for version in VERSIONS:
                    await tx.execute(ddl(version))

    async def close(self) -> None:
        await self.db.close()

    async def fill(self, count: int) -> None:
        for at in range(0, count, _PIECE):
            requests = [JobRequest("bench", "noop", {}) for _ in range(min(_PIECE, count - at))]
            async with self.db.transaction() as tx:
                await self.store.enqueue_many(tx, requests)

    async def enqueue(self, number: int) -> None:
        async with self.db.transaction() as tx:
            await self.store.enqueue(tx, "bench", "numbered", {"number": number})

    async def drain(self, count: int, batch: int) -> None:
        stop = asyncio.Event()
        left = count
        registry = Registry()

        @registry.register("noop")
        async def noop(_: JobContext, __: dict[str, Any]) -> None:
            nonlocal left
            left -= 1
            if not left:
                stop.set()

        await self.worker(registry, batch).run(stop)

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        registry = Registry()

        @registry.register("numbered")
        async def numbered(_: JobContext, args: dict[str, Any]) -> None:
            started(args["number"])

        @registry.register("noop")
        async def noop(_: JobContext, __: dict[str, Any]) -> None:
            started(0)

        stop = asyncio.Event()
        working = asyncio.create_task(self.worker(registry, batch).run(stop))
        try:
            await body()
        finally:
            stop.set()
            with contextlib.suppress(asyncio.CancelledError):
                await working

    def worker(self, registry: Registry, batch: int) -> Worker:
        return Worker(self.db, self.store, registry, queues={"bench": batch}, prefetch=2.0)

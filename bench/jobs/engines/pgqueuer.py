"""PgQueuer, tuned as its documentation says: asyncpg, one connection, batch size as given, durable tables."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.jobs.engines import Started

_PIECE = 5_000


class Engine:
    knobs = "asyncpg, batch_size = batch, durable tables, autovacuum as optimize_autovacuum sets it"

    async def open(self, dsn: str) -> None:
        self._dsn = dsn
        self._producer = await asyncpg.connect(dsn)
        self._consumer = await asyncpg.connect(dsn)
        self._queries = Queries.from_asyncpg_connection(self._producer)
        if not await self._queries.has_table("pgqueuer"):
            await self._queries.install()
            await self._queries.optimize_autovacuum()

    async def close(self) -> None:
        await self._producer.close()
        await self._consumer.close()

    async def fill(self, count: int) -> None:
        for at in range(0, count, _PIECE):
            size = min(_PIECE, count - at)
            await self._queries.enqueue(["noop"] * size, [None] * size, [0] * size)

    async def enqueue(self, number: int) -> None:
        await self._queries.enqueue("numbered", str(number).encode())

    async def drain(self, count: int, batch: int) -> None:
        manager = self._manager()

        @manager.entrypoint("noop")
        async def noop(_: Job) -> None:
            pass

        await manager.run(batch_size=batch, mode=QueueExecutionMode.drain)

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        manager = self._manager()

        @manager.entrypoint("numbered")
        async def numbered(job: Job) -> None:
            started(int(job.payload or b"0"))

        @manager.entrypoint("noop")
        async def noop(_: Job) -> None:
            started(0)

        working = asyncio.create_task(manager.run(batch_size=batch, dequeue_timeout=timedelta(seconds=15)))
        try:
            await body()
        finally:
            manager.shutdown.set()
            await working

    def _manager(self) -> QueueManager:
        return QueueManager(Queries.from_asyncpg_connection(self._consumer))

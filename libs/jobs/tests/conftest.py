from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from classifeed_common.db import Database
from classifeed_devkit.testing.background import running
from classifeed_jobs import Job, JobStore, Registry, Worker, ddl
from classifeed_jobs.schema.ddl import VERSIONS

Condition = Callable[[], Awaitable[bool]]


class Bench:
    """A database with job tables, and helpers for tests."""

    def __init__(self, database: Database) -> None:
        self.db = database
        self.store = JobStore()
        self.registry = Registry()

    async def execute(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.db.transaction() as tx:
            cursor = await tx.execute(sql, parameters or None)
            return await cursor.fetchall() if cursor.description else []

    async def value(self, sql: str, *parameters: Any) -> Any:
        return (await self.execute(sql, *parameters))[0][0]

    async def enqueue(
        self, task: str = "noop", args: dict[str, Any] | None = None, *, queue: str = "q", **options: Any
    ) -> Any:
        async with self.db.transaction() as tx:
            return (await self.store.enqueue(tx, queue, task, args or {}, **options)).job_id

    async def job(self, job_id: Any) -> Job:
        async with self.db.transaction() as tx:
            job = await self.store.get(tx, job_id)
        assert job is not None
        return job

    async def kinds(self, job_id: Any) -> list[str]:
        async with self.db.transaction() as tx:
            return [event.kind for event in await self.store.list_events(tx, job_id)]

    async def ended(self, *job_ids: Any, within_s: float = 90.0) -> list[str]:
        async def all_ended() -> bool:
            count = await self.value("SELECT count(*) FROM dl_jobs_done WHERE job_id = ANY(%s)", list(job_ids))
            return bool(count == len(job_ids))

        await until(all_ended, within_s=within_s)
        return [(await self.job(job_id)).status for job_id in job_ids]

    def worker(self, concurrency: int = 10, **options: Any) -> Worker:
        return Worker(self.db, self.store, self.registry, queues={"q": concurrency}, **{"drain_grace_s": 5.0} | options)

    @asynccontextmanager
    async def working(self, concurrency: int = 10, **options: Any) -> AsyncIterator[Worker]:
        worker = self.worker(concurrency, **options)
        async with running(worker):
            yield worker


async def until(condition: Condition, *, within_s: float = 90.0) -> None:
    deadline = time.monotonic() + within_s
    while not await condition():
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        await asyncio.sleep(0.02)


@pytest.fixture
async def bench(database: Database) -> Bench:
    async with database.transaction() as tx:
        for version in VERSIONS:
            await tx.execute(ddl(version))
    return Bench(database)

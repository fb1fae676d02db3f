"""Procrastinate: its psycopg connector, 30 jobs at a time, notifications on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import App, PsycopgConnector

from bench.jobs.engines import Started

_CONCURRENCY = 30
_PIECE = 1_000


def _nobody(_: int) -> None: ...


class Engine:
    knobs = f"concurrency {_CONCURRENCY}, pool of 8, notifications on, polling 5 s"

    async def open(self, dsn: str) -> None:
        self._started: Started = _nobody
        self._app = App(connector=PsycopgConnector(conninfo=dsn, min_size=4, max_size=8))
        await self._app.open_async()
        if not await self._app.check_connection_async():
            await self._app.schema_manager.apply_schema_async()

        @self._app.task(name="noop")
        async def noop() -> None:
            self._started(0)

        @self._app.task(name="numbered")
        async def numbered(number: int) -> None:
            self._started(number)

        self._noop, self._numbered = noop, numbered

    async def close(self) -> None:
        await self._app.close_async()

    async def fill(self, count: int) -> None:
        for at in range(0, count, _PIECE):
            await self._noop.batch_defer_async(*[{} for _ in range(min(_PIECE, count - at))])

    async def enqueue(self, number: int) -> None:
        await self._numbered.defer_async(number=number)

    async def drain(self, count: int, batch: int) -> None:
        await self._app.run_worker_async(concurrency=_CONCURRENCY, wait=False, install_signal_handlers=False)

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        self._started = started
        working = asyncio.create_task(
            self._app.run_worker_async(concurrency=batch, install_signal_handlers=False, listen_notify=True)
        )
        try:
            await body()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

"""Pool: psycopg's pool with watched connections and short pauses between attempts to connect."""

from __future__ import annotations

import asyncio
from typing import Final

from psycopg_pool import AsyncConnectionPool
from psycopg_pool.pool_async import AddConnection, MaintenanceTask

from classifeed_common.db.connection import WatchedConnection

_LONGEST_PAUSE_S: Final = 2.0


class Pool(AsyncConnectionPool[WatchedConnection]):
    """Retries connecting at least every 2 s: psycopg's pauses would grow to minutes without service."""

    async def getconn(self, timeout: float | None = None) -> WatchedConnection:
        """Return a connection; see psycopg_pool.

        Raises:
            asyncio.CancelledError: the task was cancelled meanwhile. psycopg_pool waits by `asyncio.wait_for`, which
            before
                Python 3.12 loses a cancellation if a connection arrives at the same time; the task would never end.
        """
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        connection = await super().getconn(timeout)
        if task is not None and task.cancelling() > before:
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection

    async def schedule_task(self, task: MaintenanceTask, delay: float) -> None:
        """Run a task later; see psycopg_pool."""
        is_attempt = isinstance(task, AddConnection)
        await super().schedule_task(task, min(delay, _LONGEST_PAUSE_S) if is_attempt else delay)

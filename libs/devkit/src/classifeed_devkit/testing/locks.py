"""Observation of locks, so that a test interleaves two transactions step by step instead of racing them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from classifeed_common.db import Database, Tx

_LIMIT_S: Final = 120.0
_POLL_S: Final = 0.01
_SOMEBODY_WAITS: Final = (
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND (%(pid)s::integer IS NULL OR %(pid)s = ANY (pg_blocking_pids(pid))))"
)


async def comes_to_wait(work: asyncio.Task[Any], database: Database, *, behind: Tx | None = None) -> bool:
    """Return True once a session waits for a lock; False if `work` ends before.

    Args:
        work: task that is expected to wait, in its own transaction.
        database: database of the sessions; one connection is taken from it for queries.
        behind: open transaction that holds the lock; None: any transaction.

    Raises:
        TimeoutError: neither happened within two minutes.
    """
    pid = None if behind is None else behind.info.backend_pid
    async with asyncio.timeout(_LIMIT_S), database.connection() as connection:
        while not work.done():
            cursor = await connection.execute(_SOMEBODY_WAITS, {"pid": pid})
            if await cursor.fetchone() == (True,):
                return True
            await asyncio.sleep(_POLL_S)
    return False

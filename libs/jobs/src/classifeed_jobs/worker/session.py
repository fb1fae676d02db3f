"""Session: the worker's own connection for claims and heartbeats, beside the pool that its handlers use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from psycopg.types.json import set_json_loads

from classifeed_common.db import Database, Tx
from classifeed_jobs.model.stored import read_json

# Every statement names its index by its shape (= ANY (ARRAY(…)), ORDER BY … LIMIT), so one plan serves all sizes:
# planning anew costs as much as running it, and statistics of a queue that was just empty are always wrong. By those a
# batch would be compared each with each; where a loop is meant, it is LATERAL.
_SETTINGS: tuple[str, ...] = (
    "SET plan_cache_mode = force_generic_plan",
    "SET enable_seqscan = off",
    "SET enable_nestloop = off",
)


class Session:
    """One connection in autocommit, made when needed and made anew after a fault. For single statements, unless it has
    one user only.

    Handlers that hold all pooled connections can thus not keep the lease from being renewed.

    Args:
        idle_in_transaction_s: the server ends a transaction whose process stands still for so long.
    """

    def __init__(self, database: Database, *, idle_in_transaction_s: float | None = None) -> None:
        self._db = database
        self._settings = _SETTINGS
        if idle_in_transaction_s is not None:
            idle_ms = int(idle_in_transaction_s * 1000)
            self._settings += (f"SET idle_in_transaction_session_timeout = {idle_ms}",)
        self._connection: Tx | None = None
        self._stack = AsyncExitStack()
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Tx]:
        """Give the connection; dropped when the block raises or is cancelled in the middle of a statement."""
        async with self._connecting:
            connection = await self._connected()
        try:
            yield connection
        except BaseException:
            if connection is self._connection:
                self._connection = None
                await connection.close()
            raise

    async def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._connection = None
        await self._stack.aclose()

    async def _connected(self) -> Tx:
        if self._connection is None or self._connection.closed:
            await self._stack.aclose()
            connection = await self._stack.enter_async_context(self._db.dedicated_connection())
            for setting in self._settings:
                await connection.execute(setting)
            connection.prepare_threshold = 0
            set_json_loads(read_json, connection)
            self._connection = connection
        return self._connection

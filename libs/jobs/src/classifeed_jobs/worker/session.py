"""Session: the worker's connection for claims and heartbeats, separate from the pool of its handlers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from psycopg.types.json import set_json_loads

from classifeed_common.db import Database, Tx
from classifeed_jobs.model.stored import read_json

# The form of each statement (= ANY (ARRAY(…)), ORDER BY … LIMIT) determines its index, so one generic plan fits all
# sizes. Planning costs as much as execution, and the statistics of a queue that was just empty are always wrong: with
# them, the planner would choose nested loops over whole batches. Statements that need a loop use LATERAL.
_SETTINGS: tuple[str, ...] = (
    "SET plan_cache_mode = force_generic_plan",
    "SET enable_seqscan = off",
    "SET enable_nestloop = off",
)


class Session:
    """One connection in autocommit mode, opened when needed and reopened after an error.

    It is separate from the pool, so the lease is renewed even if handlers hold all pooled connections. If several tasks
    share a session, they may only run single statements.

    Args:
        database: The service's database.
        idle_in_transaction_s: Seconds after which the server closes a session that is idle in a transaction.
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
        """Provide the connection. It is closed if the block raises or is cancelled during a statement."""
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
        """Close the connection; the next use opens a new one."""
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

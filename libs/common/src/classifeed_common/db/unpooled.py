"""Unpooled: a new connection for each use, for servers behind a pooler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from classifeed_common.db.connection import Tx, WatchedConnection
from classifeed_common.db.watch import ConnectionWatch

_RETRY_S: Final = 0.2


class Unpooled:
    """Replaces `psycopg_pool.AsyncConnectionPool`: at most `max_size` connections at once, each closed after use.

    Statements are not prepared on the server: behind a transaction pooler, another client would get them.

    Args:
        dsn: any libpq connection string.
        max_size: largest number of connections; further callers wait.
        timeout_s: seconds that they wait before they get `psycopg_pool.PoolTimeout`.
        watch: watch that ends statements without a response.
    """

    def __init__(self, dsn: str, *, max_size: int, timeout_s: float, watch: ConnectionWatch) -> None:
        self._dsn = dsn
        self._watch = watch
        self._max_size = max_size
        self._timeout_s = timeout_s
        self._free = asyncio.Semaphore(max_size)
        self._used = 0
        self._waiting = 0
        self._is_closed = True

    async def open(self, wait: bool = True, timeout: float = 30.0) -> None:
        """Wait until the server can be reached, if `wait` is set.

        Raises:
            psycopg_pool.PoolTimeout: the server cannot be reached in time.
        """
        self._is_closed = False
        try:
            async with asyncio.timeout(timeout):
                while wait and not await self._is_reachable():  # noqa: ASYNC110 the server does not notify when it is there
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError as error:
            raise PoolTimeout(f"the server could not be reached within {timeout:g} s") from error

    async def close(self) -> None:
        """Refuse further connections; those in use close with their blocks."""
        self._is_closed = True

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Tx]:
        """Provide a connection in autocommit, closed at the end of the block.

        Raises:
            psycopg_pool.PoolTimeout: no connection became free in time.
            psycopg.OperationalError: the server cannot be reached.
        """
        await self._take()
        try:
            async with await WatchedConnection.connect(
                self._dsn, autocommit=True, prepare_threshold=None, watch=self._watch
            ) as connection:
                yield connection
        finally:
            self._used -= 1
            self._free.release()

    def get_stats(self) -> dict[str, int]:
        """Return the figures by their psycopg_pool names."""
        return {"pool_max": self._max_size, "pool_size": self._used, "requests_waiting": self._waiting}

    async def _take(self) -> None:
        if self._is_closed:
            raise PoolClosed("the database is not open")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise PoolTimeout(f"no connection became free within {self._timeout_s:g} s") from error
        finally:
            self._waiting -= 1
        self._used += 1

    async def _is_reachable(self) -> bool:
        try:
            connection = await WatchedConnection.connect(self._dsn)
        except psycopg.OperationalError:
            return False
        await connection.close()
        return True

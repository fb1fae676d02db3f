"""Borrowed connections: jobs are enqueued in the open transaction of the caller, async or blocking."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from classifeed_common.db import Tx

T = TypeVar("T")

_SET_PATH: Final = (
    "SELECT current_setting('search_path'), "
    "set_config('search_path', %s || ', ' || current_setting('search_path'), true)"
)
_RESET_PATH: Final = "SELECT set_config('search_path', %s, true)"
_ACCEPTED: Final = (
    "a connection of psycopg 3, a session or connection of SQLAlchemy over postgresql+psycopg, or Django's connection"
)


class _Cursor:
    """A blocking cursor with the interface of an asynchronous one."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    async def fetchone(self) -> tuple[Any, ...] | None:
        return self._cursor.fetchone()

    async def fetchall(self) -> list[tuple[Any, ...]]:
        return self._cursor.fetchall()


class _Blocking:
    """A blocking connection with the interface of an asynchronous one; its coroutines never suspend."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def execute(self, query: Any, parameters: Any = None) -> _Cursor:
        cursor = self._connection.cursor(row_factory=tuple_row)
        return _Cursor(cursor.execute(query, parameters))


class _Asynchronous:
    """An asynchronous connection that returns rows as tuples, independent of its row factory."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def execute(self, query: Any, parameters: Any = None) -> psycopg.AsyncCursor[tuple[Any, ...]]:
        return await self._connection.cursor(row_factory=tuple_row).execute(query, parameters)


@asynccontextmanager
async def borrowed(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], schema: str
) -> AsyncIterator[Tx]:
    """Provide a connection's transaction for statements on the tables of `schema`, and restore its search path.

    Raises:
        ValueError: The connection is in autocommit mode, without a transaction.
    """
    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise ValueError("the connection is in autocommit: enqueue in a transaction, so that the job belongs to it")
    if isinstance(connection, psycopg.Connection):
        tx = cast(Tx, _Blocking(connection))
    else:
        tx = cast(Tx, _Asynchronous(connection))
    [(former, _)] = await (await tx.execute(_SET_PATH, [schema])).fetchall()
    yield tx
    await tx.execute(_RESET_PATH, [former])  # an error aborts the transaction, which also resets the path


def blocking_connection(given: Any) -> psycopg.Connection[Any]:
    """Return the psycopg connection of a blocking session, connection or Django connection.

    Raises:
        TypeError: The object has no blocking psycopg connection.
    """
    found = given
    if hasattr(found, "ensure_connection"):  # Django
        found.ensure_connection()
        found = found.connection
    if callable(getattr(found, "connection", None)):  # a session of SQLAlchemy
        found = found.connection()
    found = getattr(found, "connection", found)  # a connection of SQLAlchemy
    found = getattr(found, "driver_connection", found)
    if not isinstance(found, psycopg.Connection):
        raise TypeError(f"enqueue_sync takes {_ACCEPTED}, not {type(given).__name__}")
    return found


async def asynchronous_connection(given: Any) -> psycopg.AsyncConnection[Any]:
    """Return the psycopg connection of an asynchronous session or connection.

    Raises:
        TypeError: The object has no asynchronous psycopg connection.
    """
    found = given
    if not hasattr(found, "get_raw_connection") and callable(getattr(found, "connection", None)):
        found = await found.connection()  # a session of SQLAlchemy
    if hasattr(found, "get_raw_connection"):  # a connection of SQLAlchemy
        found = (await found.get_raw_connection()).driver_connection
    if not isinstance(found, psycopg.AsyncConnection):
        raise TypeError(f"enqueue takes {_ACCEPTED}, all asynchronous, not {type(given).__name__}")
    return found


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    coroutine.close()
    raise RuntimeError("the coroutine waits")

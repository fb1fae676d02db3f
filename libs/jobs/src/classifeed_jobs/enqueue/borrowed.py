"""Connections of others: jobs are enqueued in the transaction of whoever has one, async or not."""

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
    """A cursor of a blocking connection, awaited."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    async def fetchone(self) -> tuple[Any, ...] | None:
        return self._cursor.fetchone()

    async def fetchall(self) -> list[tuple[Any, ...]]:
        return self._cursor.fetchall()


class _Blocking:
    """A blocking connection in the form of an asynchronous one: nothing that is awaited waits."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def execute(self, query: Any, parameters: Any = None) -> _Cursor:
        cursor = self._connection.cursor(row_factory=tuple_row)
        return _Cursor(cursor.execute(query, parameters))


class _Asynchronous:
    """An asynchronous connection whose rows are tuples, whatever its owner has set."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def execute(self, query: Any, parameters: Any = None) -> psycopg.AsyncCursor[tuple[Any, ...]]:
        return await self._connection.cursor(row_factory=tuple_row).execute(query, parameters)


@asynccontextmanager
async def borrowed(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], schema: str
) -> AsyncIterator[Tx]:
    """Give a connection's transaction for statements on the tables of `schema`; its search path is as before after it.

    Raises:
        ValueError: the connection commits each statement by itself.
    """
    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise ValueError("the connection is in autocommit: enqueue in a transaction, so that the job belongs to it")
    if isinstance(connection, psycopg.Connection):
        tx = cast(Tx, _Blocking(connection))
    else:
        tx = cast(Tx, _Asynchronous(connection))
    [(former, _)] = await (await tx.execute(_SET_PATH, [schema])).fetchall()
    yield tx
    await tx.execute(_RESET_PATH, [former])  # after an error the transaction is lost, and with it the path


def blocking_connection(given: Any) -> psycopg.Connection[Any]:
    """Return the psycopg connection of a blocking session, connection or Django connection.

    Raises:
        TypeError: it has none.
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
        TypeError: it has none.
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
    """Run a coroutine that waits for nothing, and return what it returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    coroutine.close()
    raise RuntimeError("the coroutine waits")

"""WatchedConnection: a connection whose statements do not wait for a response that was lost."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from os import dup
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

T = TypeVar("T")

Tx: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
"""A connection inside BEGIN … COMMIT, its search path set to the service's schema, its rows tuples."""

# asyncio ends a wait by itself. Psycopg's own 0.1 s, for Ctrl-C, would wake each listener ten times a second.
_POLL_S: Final = 60.0


class ResponseLost(psycopg.OperationalError):
    """The connection is dead although its socket was open. The effect of the statement is unknown; a passing fault."""


class StatementWatch(Protocol):
    """What looks after the statements of connections: a `ConnectionWatch`.

    Attributes:
        generation: grows with each connection that was found dead.
    """

    generation: int

    def adopt(self, connection: WatchedConnection) -> None:
        """Take note of a new connection."""

    def begin(self, connection: WatchedConnection) -> None:
        """Watch a wait. Called for each statement: it has to cost nothing."""

    def end(self, connection: WatchedConnection) -> None:
        """Watch it no longer."""

    def release(self, connection: WatchedConnection) -> None:
        """Take note that a connection is about to be closed."""


class WatchedConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A psycopg connection that a watch looks after while a statement is under way.

    Attributes:
        activity: grows with each wait and each time the socket has something for us: unchanged, it was silent.
        generation: the watch's, as of the last response. An older one than the watch's: it may be dead as well.
        opened_s: when it was connected, by the loop's clock.
    """

    activity = 0
    generation = 0
    opened_s = 0.0
    _after_commit: list[Callable[[], object]]
    _watch: StatementWatch | None = None
    _lost: str | None = None
    _under_way: PQGen[Any] | None = None

    @classmethod
    async def connect(cls, conninfo: str = "", *, watch: StatementWatch | None = None, **kwargs: Any) -> Self:  # type: ignore[override]
        """Connect; see psycopg. Without a watch it is a connection like any other."""
        connection = await super().connect(conninfo, **kwargs)
        if watch is not None:
            watch.adopt(connection)
            connection._watch = watch
        return connection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._after_commit = []

    @asynccontextmanager
    async def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> AsyncIterator[psycopg.AsyncTransaction]:
        """Give a block in a transaction, or in a savepoint of the one that is open; see psycopg and `after_commit`."""
        is_outermost = self.info.transaction_status == TransactionStatus.IDLE
        former = len(self._after_commit)
        try:
            async with super().transaction(savepoint_name, force_rollback) as transaction:
                yield transaction
        except BaseException:
            del self._after_commit[former:]
            raise
        if transaction.status != psycopg.AsyncTransaction.Status.COMMITTED:  # `psycopg.Rollback` ends no block
            del self._after_commit[former:]
        if is_outermost:
            calls, self._after_commit = self._after_commit, []
            for call in calls:
                call()

    def after_commit(self, call: Callable[[], object]) -> None:
        """Have `call` made once the open transaction has committed; see the function `after_commit`."""
        self._after_commit.append(call)

    @property
    def is_executing(self) -> bool:
        """Whether a statement is under way; False while notifications are waited for."""
        return self.pgconn.transaction_status == TransactionStatus.ACTIVE

    @property
    def statement(self) -> str | None:
        """The statement under way, without its parameters; None where psycopg does not expose it."""
        return _statement_of(self._under_way)

    async def wait(self, gen: PQGen[T], interval: float = _POLL_S, timeout: float | None = None) -> T:
        """Run a generator of psycopg to its end: whatever this connection does on the network, it does here.

        Raises:
            ResponseLost: the watch found the connection dead.
        """
        watch = self._watch
        if watch is None:
            return await super().wait(gen, interval, timeout)
        self.activity += 1
        self._under_way = gen
        watch.begin(self)
        try:
            result = await super().wait(_observe(gen, self), interval, timeout)
        except psycopg.OperationalError as error:
            if self._lost is None:
                raise
            raise ResponseLost(self._lost) from error
        finally:
            watch.end(self)
        self.generation = watch.generation
        return result

    async def close(self) -> None:
        """Close the connection. One that may be dead leaves its session to the watch: no message would reach it."""
        if self._watch is not None and not self.closed:
            self._watch.release(self)
        await super().close()

    def cut(self, why: str) -> None:
        """End the wait under way with `ResponseLost`."""
        self._lost = why
        shut_down(self)


def after_commit(tx: Tx, call: Callable[[], object]) -> None:
    """Have `call` made, in the context of now, once the transaction has committed; never when it is rolled back.

    For what only reports an effect: lines of the log, counts. It must not raise. It is not made when the process dies
    in between, nor when the commit raises: then nobody knows whether there was one.
    """
    assert isinstance(tx, WatchedConnection)
    tx.after_commit(partial(copy_context().run, call))


def shut_down(connection: psycopg.AsyncConnection[Any]) -> None:
    """Make the connection's socket end, so that who waits for it gets an OperationalError at once.

    Closing it would not do: libpq is in the middle of it, and asyncio polls it. One that is closed already stays so.
    """
    with suppress(OSError, psycopg.OperationalError), socket.socket(fileno=dup(connection.pgconn.socket)) as twin:
        twin.shutdown(socket.SHUT_RDWR)


def _statement_of(gen: object) -> str | None:
    """Read the frames of psycopg's generators: they know, and nothing is to be noted for each statement."""
    while gen is not None:
        frame = getattr(gen, "gi_frame", None)
        found = (frame.f_locals.get("query") or frame.f_locals.get("command")) if frame is not None else None
        if isinstance(found, str | bytes):
            return " ".join((found.decode() if isinstance(found, bytes) else found).split())[:200]
        gen = getattr(gen, "gi_yieldfrom", None)
    return None


def _observe(gen: PQGen[T], connection: WatchedConnection) -> Generator[Any, Any, T]:
    """Run `gen`, and note each time that its socket is ready; psycopg sends 0 when a poll has found nothing."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                connection.activity += 1
            wanted = gen.send(ready)
    except StopIteration as end:
        result: T = end.value
        return result

"""WatchedConnection: a database connection that does not wait for ever for a lost response."""

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
"""A connection inside BEGIN … COMMIT, with the service's schema as its search path and tuples as its rows."""

# asyncio ends a wait without polling. Psycopg's default of 0.1 s, for Ctrl-C, would wake each listener ten times a
# second.
_POLL_S: Final = 60.0


class ResponseLost(psycopg.OperationalError):
    """The connection is dead although its socket was open. The statement's effect is unknown. A passing fault."""


class StatementWatch(Protocol):
    """Watcher of statements under way: the interface of `ConnectionWatch`.

    Attributes:
        generation: number that grows with each connection found dead.
    """

    generation: int

    def adopt(self, connection: WatchedConnection) -> None:
        """Register a new connection."""

    def begin(self, connection: WatchedConnection) -> None:
        """Start to watch a wait. Called for each statement, so it must be cheap."""

    def end(self, connection: WatchedConnection) -> None:
        """Stop watching."""

    def release(self, connection: WatchedConnection) -> None:
        """Register that a connection is about to be closed."""


class WatchedConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A psycopg connection that is watched while a statement is under way.

    Attributes:
        activity: counter of waits and of times that the socket was ready; unchanged while the socket is silent.
        generation: the watch's generation at the last response. If it is older than the watch's, the connection may be
            dead.
        opened_s: time of the connect, by the event loop's clock.
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
        """Connect; see psycopg. Without `watch` the connection is not watched."""
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
        """Provide a transaction, or a savepoint inside an open one; see psycopg and `after_commit`."""
        is_outermost = self.info.transaction_status == TransactionStatus.IDLE
        former = len(self._after_commit)
        try:
            async with super().transaction(savepoint_name, force_rollback) as transaction:
                yield transaction
        except BaseException:
            del self._after_commit[former:]
            raise
        if transaction.status != psycopg.AsyncTransaction.Status.COMMITTED:  # psycopg swallows `psycopg.Rollback`
            del self._after_commit[former:]
        if is_outermost:
            calls, self._after_commit = self._after_commit, []
            for call in calls:
                call()

    def after_commit(self, call: Callable[[], object]) -> None:
        """Call `call` once the open transaction has committed; see the function `after_commit`."""
        self._after_commit.append(call)

    @property
    def is_executing(self) -> bool:
        """Whether a statement is under way; False while waiting for notifications."""
        return self.pgconn.transaction_status == TransactionStatus.ACTIVE

    @property
    def statement(self) -> str | None:
        """The statement under way, without parameters; None where psycopg does not expose it."""
        return _statement_of(self._under_way)

    async def wait(self, gen: PQGen[T], interval: float = _POLL_S, timeout: float | None = None) -> T:
        """Run a psycopg generator to its end; all network traffic of this connection goes through here.

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
        """Close the connection. If it may be dead, the watch ends its session: no message would reach the server."""
        if self._watch is not None and not self.closed:
            self._watch.release(self)
        await super().close()

    def cut(self, why: str) -> None:
        """End the current wait with `ResponseLost`."""
        self._lost = why
        shut_down(self)


def after_commit(tx: Tx, call: Callable[[], object]) -> None:
    """Call `call` in the current context once the transaction has committed; never after a rollback.

    For reports of an effect, such as log lines and counters. `call` must not raise. It is not called if the process
    dies in between, or if the commit raises: then the outcome of the commit is unknown.
    """
    assert isinstance(tx, WatchedConnection)
    tx.after_commit(partial(copy_context().run, call))


def shut_down(connection: psycopg.AsyncConnection[Any]) -> None:
    """Shut down the connection's socket, so that a pending wait raises OperationalError at once.

    Closing is not possible: libpq is using the socket, and asyncio polls it. A closed connection stays closed.
    """
    with suppress(OSError, psycopg.OperationalError), socket.socket(fileno=dup(connection.pgconn.socket)) as twin:
        twin.shutdown(socket.SHUT_RDWR)


def _statement_of(gen: object) -> str | None:
    """Read the statement from the frames of psycopg's generators, so that no statement needs bookkeeping."""
    while gen is not None:
        frame = getattr(gen, "gi_frame", None)
        found = (frame.f_locals.get("query") or frame.f_locals.get("command")) if frame is not None else None
        if isinstance(found, str | bytes):
            return " ".join((found.decode() if isinstance(found, bytes) else found).split())[:200]
        gen = getattr(gen, "gi_yieldfrom", None)
    return None


def _observe(gen: PQGen[T], connection: WatchedConnection) -> Generator[Any, Any, T]:
    """Run `gen` and count each time that its socket is ready; psycopg sends 0 when a poll found nothing."""
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

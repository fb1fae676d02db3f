"""A TCP proxy on loopback that can fall silent: sockets stay open and acknowledge, but nothing is forwarded.

To both ends it looks like a hung load balancer, a stopped machine, or a firewall that lost a connection. Works for any
server: PostgreSQL, S3, gRPC.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Protocol, Self, TypeVar

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from classifeed_common.db import Database

T = TypeVar("T")
Rewrite = Callable[[bytes], bytes]

_CHUNK_BYTES: Final = 64 * 1024
_START_LIMIT_S: Final = 60.0


class _Link:
    """One proxied connection; `is_open` lets bytes pass."""

    def __init__(self, *, is_open: bool) -> None:
        self.is_open = asyncio.Event()
        if is_open:
            self.is_open.set()
        self.writers: list[asyncio.StreamWriter] = []
        self.forwarded_bytes = 0

    async def pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rewrite: Rewrite | None = None
    ) -> None:
        """Forward until the end of the stream. Data read before a silence is forwarded after it."""
        while data := await reader.read(_CHUNK_BYTES):
            await self.is_open.wait()
            writer.write(rewrite(data) if rewrite else data)
            await writer.drain()
            self.forwarded_bytes += len(data)
        await self.is_open.wait()

    def close(self) -> None:
        for writer in self.writers:
            writer.close()

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()


class TcpProxy:
    """Forwards TCP connections to one server. Runs in a separate thread, so any test may call it.

    Args:
        host: address of the server.
        port: port of the server.
        rewrite: function that changes each received piece of the server's data.
    """

    def __init__(self, host: str, port: int, *, rewrite: Rewrite | None = None) -> None:
        self.upstream = (host, port)
        self._rewrite = rewrite
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._listening: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._forwards_new = True
        self.port = 0

    @property
    def address(self) -> str:
        """Address of the proxy, host:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """Number of open connections, including silent ones."""
        return self._call(lambda: len(self._links))

    @property
    def forwarded_bytes(self) -> int:
        """Number of bytes that the open connections have forwarded, in both directions."""
        return self._call(lambda: sum(link.forwarded_bytes for link in self._links))

    def dsn(self, dsn: str) -> str:
        """Return a PostgreSQL connection string through the proxy."""
        return make_conninfo(dsn, host="127.0.0.1", port=self.port)

    def start(self) -> Self:
        """Listen on a free port, or on the port of the last start."""
        if not self._thread.is_alive():
            self._thread.start()
        self._run(self._listen())
        return self

    def stop(self) -> None:
        """Close everything."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def silence_existing(self) -> int:
        """Stop forwarding on the present connections, and return their number; later ones are forwarded."""
        return self._call(lambda: self._silence(forwards_new=True))

    def silence_all(self) -> int:
        """Stop all forwarding; new connections are accepted without a response. Return the number of present ones."""
        return self._call(lambda: self._silence(forwards_new=False))

    def cut_existing(self) -> None:
        """Reset the present connections, as a crashing server does."""

        def cut() -> None:
            for link in self._links:
                link.cut()

        self._call(cut)

    def refuse(self) -> None:
        """Refuse new connections until `restore`; the present ones are unchanged."""
        self._run(self._stop_listening())

    def restore(self) -> None:
        """Accept and forward new connections again; silent ones stay silent."""

        async def restore() -> None:
            self._forwards_new = True
            if self._listening is None:
                await self._listen()

        self._run(restore())

    def resume(self) -> None:
        """Forward on every connection again, beginning with the data that was held back."""

        def resume() -> None:
            self._forwards_new = True
            for link in self._links:
                link.is_open.set()

        self._call(resume)

    def _silence(self, *, forwards_new: bool) -> int:
        self._forwards_new = forwards_new
        for link in self._links:
            link.is_open.clear()
        return len(self._links)

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    async def _close(self) -> None:
        await self._stop_listening()
        writers = [writer for link in self._links for writer in link.writers]
        for link in self._links:
            link.cut()  # the peer may not read the rest
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(is_open=self._forwards_new)
        link.writers.append(writer)
        self._links.add(link)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await link.is_open.wait()
            onward_reader, onward_writer = await asyncio.open_connection(*self.upstream)
            link.writers.append(onward_writer)
            ways = [
                asyncio.create_task(link.pump(reader, onward_writer)),
                asyncio.create_task(link.pump(onward_reader, writer, self._rewrite)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)  # if one end closes, close the other
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # the server is away, or the proxy stops
        finally:
            self._links.discard(link)
            link.close()

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_START_LIMIT_S)

    def _call(self, function: Callable[[], T]) -> T:
        outcome: Future[T] = Future()

        def call() -> None:
            outcome.set_result(function())

        self._loop.call_soon_threadsafe(call)
        return outcome.result(_START_LIMIT_S)


class MakeProxy(Protocol):
    """Starts a proxy in front of a server; arguments as for TcpProxy."""

    def __call__(self, host: str, port: int, *, rewrite: Rewrite | None = None) -> TcpProxy:
        """Return a listening proxy, stopped at the end of the test."""


@pytest.fixture
def tcp_proxy() -> Iterator[MakeProxy]:
    """Yield a factory of proxies: `tcp_proxy("127.0.0.1", port)` is started, and stopped at the end of the test."""
    made: list[TcpProxy] = []

    def make(host: str, port: int, *, rewrite: Rewrite | None = None) -> TcpProxy:
        made.append(TcpProxy(host, port, rewrite=rewrite).start())
        return made[-1]

    yield make
    for proxy in made:
        with suppress(RuntimeError):  # the test may have stopped it
            proxy.stop()


@pytest.fixture
def postgres_proxy(tcp_proxy: MakeProxy, database_dsn: str) -> TcpProxy:
    """Return a proxy for the test's database; `postgres_proxy.dsn(database_dsn)` connects through it."""
    target = conninfo_to_dict(database_dsn)
    return tcp_proxy(str(target["host"]), int(target["port"] or 5432))


ProxiedDatabase = Callable[..., Awaitable[Database]]


@pytest.fixture
async def proxied_database(
    database: Database, database_dsn: str, postgres_proxy: TcpProxy
) -> AsyncIterator[ProxiedDatabase]:
    """Yield a factory: `await proxied_database(max_size=2)` is like `database`, through `postgres_proxy`."""
    opened: list[Database] = []

    async def make(**changes: object) -> Database:
        settings = {"schema": database.schema, "application_name": "proxied"}
        made = Database(postgres_proxy.dsn(database_dsn), **(settings | changes))  # type: ignore[arg-type]
        await made.open()
        opened.append(made)
        return made

    yield make
    for each in opened:
        await each.close()

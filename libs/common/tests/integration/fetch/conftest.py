from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from classifeed_common.fetch import AddressGuard
from classifeed_common.fetch.fetcher import Fetcher

from .loopback_web import Handler, Web

Serve = Callable[..., Awaitable[Web]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers; `await serve(handler)`."""
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(
        handler: Handler, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, keeps: bool = False
    ) -> Web:
        web = Web(handler, keeps)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with suppress(asyncio.CancelledError):
                await web.serve(reader, writer)

        server = await asyncio.start_server(connected, host, 0, ssl=tls)
        servers.append(server)
        web.port = server.sockets[0].getsockname()[1]
        return web

    yield start
    for server in servers:
        server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """Yield a fetcher that may request servers on this machine."""
    fetcher = Fetcher(guard=AddressGuard(allow_loopback=True))
    yield fetcher
    await fetcher.close()

"""HttpServer: uvicorn inside a process that another component controls, without signal handlers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, cast

import uvicorn
from starlette.applications import Starlette

from classifeed_common.http.connection import ConnectionLimits, LimitedProtocol
from classifeed_common.pacing.waiting import wait_for_event

# A client with hundreds of connections opens them all at once.
_BACKLOG: Final = 1024
_TICK_S: Final = 1.0
_LIMITS: Final = ConnectionLimits()
# The kernel's default grows to megabytes for a client that does not read, and counts as a container's memory.
_SEND_BUFFER_BYTES: Final = 256 << 10


class HttpServer:
    """Serves an application on a socket that is bound in advance, so that its port is known.

    Args:
        app: the application.
        listening: listening socket.
        limits: limits of its connections.
    """

    def __init__(self, app: Starlette, listening: socket.socket, *, limits: ConnectionLimits = _LIMITS) -> None:
        config = uvicorn.Config(
            app,
            http=cast(Any, partial(LimitedProtocol, limits=limits)),
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
            server_header=False,
        )
        self._server = _QuietServer(config)
        self._socket = listening
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to serve; returns at once."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="http")

    async def stop(self) -> None:
        """Stop accepting, wait up to 5 s for requests to end, and return."""
        self._server.should_exit = True
        self._server.stopping.set()
        if self._task is not None:
            await self._task
        self._socket.close()


class _QuietServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()

    async def main_loop(self) -> None:
        """Check the connections once a second, and renew the date of responses.

        Uvicorn's own loop wakes ten times a second, and stops 0.1 s late.
        """
        loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            await wait_for_event(self.stopping, _TICK_S)
            for connection in list(self.server_state.connections):
                if isinstance(connection, LimitedProtocol):
                    connection.check(loop.time())

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the runner, which drains gRPC, roles and HTTP in this order."""
        yield


def bind(address: str) -> socket.socket:
    """Return a listening socket for host:port.

    Raises:
        OSError: the address is in use or not local.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Created as TCP: asyncio turns Nagle's algorithm off on such sockets only. Head and body of a response are two
    # writes, and the second would wait 40 ms for the client's delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # accepted sockets inherit it
        listening.bind((host, int(port)))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def address_of(listening: socket.socket) -> str:
    """Return host:port of a bound socket."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""LimitedProtocol: HTTP connections with limits of number, and timeouts for slow clients (ADR 0083)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, cast

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from classifeed_common.errors import Unavailable
from classifeed_common.http.problems import problem_of
from classifeed_common.telemetry.metrics import HTTP_CONNECTIONS_CLOSED, HTTP_REFUSALS

_API: Final = "connections"
_HEALTH: Final = "/health"
_BUSY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of the connections of one process.

    Attributes:
        served: largest number of connections whose requests are handled. Requests of others get 503, except `/health`.
        spare: number of connections beyond `served` that are accepted for such responses. Further ones are closed at
            once.
        write_s: seconds in which a client must read data that is ready to be sent.
        head_s: seconds in which the head of a request must be complete.
        discard_s: seconds in which the rest of an unread body must be complete.
        discard_bytes: largest rest of an unread body that is discarded, in bytes.
    """

    served: int = 512
    spare: int = 64
    write_s: float = 30.0
    head_s: float = 30.0
    discard_s: float = 20.0
    discard_bytes: int = 64 << 20


class ClientGone(Exception):
    """The client of a response has disconnected; its handler stops."""


class LimitedProtocol(H11Protocol):
    """A uvicorn connection with limits; call `check` about once a second.

    The transport pauses the writer as soon as it has unsent bytes. So a response that is sent in pieces has one piece
    in the transport and one that waits.

    Args:
        config: configuration of the server.
        server_state: state of the server, with all its connections.
        app_state: state of the application.
        limits: limits of all connections.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._handled = cast(ASGIApp, self.app)
        self.app = cast(Any, self._handle)
        self._is_spare = False
        self._is_closing = False
        self._discarded = 0
        self._unsent_since: float | None = None
        self._head_since: float | None = self.loop.time()
        self._discards_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or close it if there are too many."""
        transport.set_write_buffer_limits(high=0)
        super().connection_made(cast(asyncio.Transport, _GentleTransport(transport, self)))
        if len(self.connections) > self._limits.served + self._limits.spare:
            self._abort("too_many")
        self._is_spare = len(self.connections) > self._limits.served

    def resume_writing(self) -> None:
        """Record that the client has read all pending data."""
        self._unsent_since = None
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request; discard it if it belongs to an unread body."""
        if self._is_closing or self._is_unread:
            self._discarded += len(data)
            if self._discarded > self._limits.discard_bytes:
                self._abort("unread_body")
                return
        else:
            self._discarded = 0
        if not self._is_closing:
            super().data_received(data)

    def close_gently(self, transport: asyncio.Transport) -> None:
        """Close a connection so that its client receives the response, even if it is still sending.

        Closing a socket with unread bytes resets the connection, and a client that is sending would lose the response.
        """
        if self._is_closing or self.conn.their_state not in (h11.SEND_BODY, h11.ERROR) or not transport.can_write_eof():
            transport.close()
            return
        self._is_closing = True
        transport.write_eof()
        transport.resume_reading()

    @property
    def is_closing(self) -> bool:
        """Whether the rest of a request is read and discarded, so that the client can read the response."""
        return self._is_closing

    def check(self, now: float) -> None:
        """Close the connection if its client has read nothing, or sent nothing, for too long.

        Args:
            now: time by the event loop's clock, in seconds.
        """
        limits = self._limits
        if not self.transport.get_write_buffer_size():
            self._unsent_since = None
        elif self._unsent_since is None:
            self._unsent_since = now
        elif now - self._unsent_since > limits.write_s:
            self._abort("slow_reader")
            return
        is_idle = (self.cycle is None or self.cycle.response_complete) and not (self._is_closing or self._is_unread)
        self._head_since = (self._head_since or now) if is_idle else None
        self._discards_since = (self._discards_since or now) if self._is_closing or self._is_unread else None
        if self._head_since is not None and now - self._head_since > limits.head_s:
            self._abort("no_request")
        elif self._discards_since is not None and now - self._discards_since > limits.discard_s:
            self._abort("unread_body")

    @property
    def _is_unread(self) -> bool:
        """Whether the response is complete while the client still sends the body."""
        return self.conn.their_state is h11.SEND_BODY and self.cycle is not None and self.cycle.response_complete

    def _abort(self, reason: str) -> None:
        HTTP_CONNECTIONS_CLOSED.labels(reason).inc()
        self.transport.abort()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_while_connected(message: Message) -> None:
            await send(message)
            if self.cycle.disconnected:
                raise ClientGone

        self._head_since = None
        self._is_spare = self._is_spare and len(self.connections) > self._limits.served
        try:
            if self._is_spare and not scope["path"].startswith(_HEALTH):
                await _refuse(scope, receive, send)
            else:
                await self._handled(scope, receive, send_while_connected)
        except ClientGone:
            return


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    error = Unavailable(
        "TOO_MANY_CONNECTIONS",
        "This process serves as many HTTP connections as it may. Try again later, and close connections after use.",
        retry_after_s=_BUSY_S,
    )
    HTTP_REFUSALS.labels(_API, error.reason).inc()
    response = problem_of(error, instance=scope["path"])
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


class _GentleTransport:
    """A transport whose `close` lets the client read the response first."""

    def __init__(self, transport: asyncio.Transport, protocol: LimitedProtocol) -> None:
        self._transport = transport
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close the connection gently."""
        self._protocol.close_gently(self._transport)

    def is_closing(self) -> bool:
        """Whether sending has ended."""
        return self._protocol.is_closing or self._transport.is_closing()

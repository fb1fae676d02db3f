"""Responses in pieces: files are never read as a whole, and other large bodies have a memory budget (ADR 0083)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import BinaryIO, Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classifeed_common.errors import Unavailable
from classifeed_common.http.problems import problem_of
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

PIECE_BYTES: Final = 64 << 10
"""Bytes passed to a connection at once."""
BUDGET_BYTES: Final = 32 << 20
"""Largest number of bytes of large bodies in memory, until their clients have read them, in one process."""
_API: Final = "responses"
_BUSY_S: Final = 5.0


class ResponseBudget:
    """Counts the bytes of bodies that are being sent; a body for several clients counts once."""

    def __init__(self, max_bytes: int = BUDGET_BYTES) -> None:
        self._max_bytes = max_bytes
        self._used = 0
        self._clients: dict[int, int] = {}

    def take(self, body: bytes) -> None:
        """Count a body until `give_back`. A lone body always fits.

        Raises:
            Unavailable: RESPONSES_BUSY.
        """
        clients = self._clients.get(id(body), 0)
        if not clients:
            if self._used and self._used + len(body) > self._max_bytes:
                raise Unavailable(
                    "RESPONSES_BUSY",
                    f"{self._used} bytes of other responses wait for their clients. Try again later.",
                    retry_after_s=_BUSY_S,
                )
            self._used += len(body)
        self._clients[id(body)] = clients + 1

    def give_back(self, body: bytes) -> None:
        """Stop counting a body for one client."""
        self._clients[id(body)] -= 1
        if not self._clients[id(body)]:
            del self._clients[id(body)]
            self._used -= len(body)


class SentInPieces:
    """ASGI middleware that sends large bodies in pieces, each once the client has read the one before.

    A problem document replaces a body that does not fit into the budget.

    Args:
        app: application that sends the responses.
        budget: budget of the process.
    """

    def __init__(self, app: ASGIApp, budget: ResponseBudget) -> None:
        self._app = app
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and send its response."""
        start: Message | None = None
        is_replaced = False

        async def send_pieces(message: Message) -> None:
            nonlocal start, is_replaced
            if message["type"] == "http.response.start":
                start = message
                return
            body = message.get("body", b"")
            if is_replaced:
                return
            if len(body) <= PIECE_BYTES:
                if start is not None:
                    head, start = start, None
                    await send(head)
                await send(message)
                return
            try:
                self._budget.take(body)
            except Unavailable as error:
                if start is None:
                    raise
                is_replaced = True
                HTTP_REFUSALS.labels(_API, error.reason).inc()
                await problem_of(error, instance=scope["path"])(scope, receive, send)
                return
            try:
                if start is not None:
                    head, start = start, None
                    await send(head)
                view = memoryview(body)
                for begin in range(0, len(body), PIECE_BYTES):
                    is_last = begin + PIECE_BYTES >= len(body)
                    more = not is_last or message.get("more_body", False)
                    await send({**message, "body": bytes(view[begin : begin + PIECE_BYTES]), "more_body": more})
            finally:
                self._budget.give_back(body)

        await self._app(scope, receive, send_pieces if scope["type"] == "http" else send)


class FileResponse(Response):
    """A response whose body is an open file, read in pieces as the client reads it.

    Args:
        file: file, read from its start without its position, so that several responses can share it.
        size_bytes: size of the file.
        holding: stack that is closed when the response ends, also after an error.
        media_type: type of the body.
        headers: further headers.
    """

    def __init__(
        self,
        file: BinaryIO,
        size_bytes: int,
        holding: AsyncExitStack,
        *,
        media_type: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(media_type=media_type, headers={**headers, "Content-Length": str(size_bytes)})
        self._file = file
        self._size_bytes = size_bytes
        self._holding = holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the response."""
        async with self._holding:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                async for piece in self._pieces():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    async def _pieces(self) -> AsyncIterator[bytes]:
        for begin in range(0, self._size_bytes, PIECE_BYTES):
            yield await asyncio.to_thread(os.pread, self._file.fileno(), PIECE_BYTES, begin)

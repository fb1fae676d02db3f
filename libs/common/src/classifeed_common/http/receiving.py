"""A memory budget for the request bodies of a process."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classifeed_common.errors import Unavailable
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

BUDGET_BYTES: Final = 64 << 20
"""Largest number of bytes of large bodies in memory, until their requests have ended, in one process."""
FREE_BYTES: Final = 64 << 10
"""Bytes of each body that are not counted."""
_API: Final = "requests"
_BUSY_S: Final = 2.0


class BodiesWithinBudget:
    """ASGI middleware that counts the bytes of bodies as they arrive, until their requests have ended.

    Args:
        app: application that reads the bodies; `receive` raises REQUESTS_BUSY while the budget is used up.
        max_bytes: budget in bytes. The body of a lone request always fits.
    """

    def __init__(self, app: ASGIApp, max_bytes: int = BUDGET_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._used = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its body."""
        received = counted = 0

        async def receive_counted() -> Message:
            nonlocal received, counted
            message = await receive()
            received += len(message.get("body", b""))
            more = max(received - FREE_BYTES, 0) - counted
            if more > 0:
                if self._used > counted and self._used + more > self._max_bytes:
                    HTTP_REFUSALS.labels(_API, "REQUESTS_BUSY").inc()
                    raise Unavailable(
                        "REQUESTS_BUSY",
                        f"{self._used} bytes of other requests are being handled. Send this one again later.",
                        retry_after_s=_BUSY_S,
                    )
                counted += more
                self._used += more
            return message

        try:
            await self._app(scope, receive_counted if scope["type"] == "http" else receive, send)
        finally:
            self._used -= counted

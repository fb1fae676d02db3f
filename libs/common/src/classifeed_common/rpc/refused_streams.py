"""Reading of the rest of a request stream before the call is refused.

The status of a call also ends its caller's stream. A grpc.aio client that writes at that moment reports INTERNAL
("Internal error from Core") instead of the status (grpc/grpc#36066), so that a caller without a token would not learn
the reason. Therefore the status waits until the caller has stopped writing, within limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc.aio
from google.protobuf.message import DecodeError

# As much as a unary call sends before its token is checked.
READ_BYTES: Final = 16 * 1024 * 1024
READ_S: Final = 5.0
# After this silence, the caller is assumed to wait for the response.
SILENT_S: Final = 0.5


async def read_rest(read: Callable[[], Awaitable[Any]]) -> None:
    """Discard requests until the caller ends its stream, is silent for SILENT_S, or a limit is reached.

    Args:
        read: function that returns the next request, as `texts.Received`, or grpc.aio.EOF.
    """
    loop = asyncio.get_running_loop()
    ends_at, left_bytes = loop.time() + READ_S, READ_BYTES
    while left_bytes > 0 and loop.time() < ends_at:
        # Not wait_for: it would cancel the read, and gRPC cannot cancel a read under way.
        reading = asyncio.ensure_future(read())
        await asyncio.wait({reading}, timeout=SILENT_S)
        if not reading.done():
            reading.add_done_callback(_look_at)
            return
        error = None if reading.cancelled() else reading.exception()
        if isinstance(error, DecodeError):
            continue
        if reading.cancelled() or error is not None or (received := reading.result()) is grpc.aio.EOF:
            return
        left_bytes -= received.size_bytes


def _look_at(reading: asyncio.Future[Any]) -> None:
    """Retrieve the error of a read that is not awaited, so that asyncio does not report it."""
    if not reading.cancelled():
        reading.exception()

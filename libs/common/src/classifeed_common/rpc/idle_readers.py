"""Disconnection of streams whose readers read nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, TypeVar

Item = TypeVar("Item")
SILENCE_S: Final = 30.0
"""Seconds after which a reader that reads nothing is disconnected."""


async def disconnect_idle(items: AsyncIterator[Item], *, silence_s: float = SILENCE_S) -> AsyncGenerator[Item, None]:
    """Yield items to a server stream; cancel the call once its reader has read none for `silence_s` seconds.

    Flow control blocks a stream while its reader reads nothing, and the stream keeps all its resources. Iterate in the
    task of the call.
    """
    loop, call = asyncio.get_running_loop(), asyncio.current_task()
    assert call is not None
    async for item in items:
        timer = loop.call_later(silence_s, call.cancel)
        try:
            yield item
        finally:
            timer.cancel()

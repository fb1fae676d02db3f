"""Ending streams whose readers take nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, TypeVar

Item = TypeVar("Item")
SILENCE_S: Final = 30.0
"""Seconds after which a reader that takes nothing is disconnected."""


async def disconnect_idle(items: AsyncIterator[Item], *, silence_s: float = SILENCE_S) -> AsyncGenerator[Item, None]:
    """Yield items to a server stream; cancel the call once its reader has taken none for `silence_s` seconds.

    Flow control keeps a stream at its last item for as long as the reader takes nothing, and with it all that the
    stream holds. Iterate it in the task of the call.
    """
    loop, call = asyncio.get_running_loop(), asyncio.current_task()
    assert call is not None
    async for item in items:
        timer = loop.call_later(silence_s, call.cancel)
        try:
            yield item
        finally:
            timer.cancel()

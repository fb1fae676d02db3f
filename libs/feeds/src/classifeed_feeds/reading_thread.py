"""Thread that reads one file."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")


class ReadingThread:
    """One thread for all work on a file, so that the event loop can still renew leases.

    All calls use the same thread: lxml's objects share a dictionary with their thread, and using them in another thread
    crashes the process. At the end of the block, a call in progress continues in the background. The functions given to
    `closing` run after it, in the same thread. The block does not wait for them.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="feed")
        self._closing: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for close in self._closing:
            self._pool.submit(close)
        self._pool.shutdown(wait=False)

    def closing(self, close: Callable[[], None]) -> None:
        """Register a function to call in the thread at the end of the block."""
        self._closing.append(close)

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Enqueue a call in the thread."""
        return self._pool.submit(contextvars.copy_context().run, work)

    async def call(self, work: Callable[[], T]) -> T:
        """Run a call in the thread and return its result. A cancellation does not stop the call."""
        return await asyncio.wrap_future(self.begin(work))

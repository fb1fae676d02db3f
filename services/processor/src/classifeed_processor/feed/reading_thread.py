"""The thread that reads one file."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")


class ReadingThread:
    """One thread for everything that touches the file, so that the event loop goes on renewing leases.

    It is the same thread from the first byte to the last: what lxml parses shares a dictionary with its thread, and
    going on in another one ends in a crash of the process. Leaving the block lets a call under way end behind our back
    and then closes what `closing` was given, in the thread as well; nothing waits for it.
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
        """Has `close` called in the thread at the end."""
        self._closing.append(close)

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Begins a call in the thread, after those before it."""
        return self._pool.submit(contextvars.copy_context().run, work)

    async def call(self, work: Callable[[], T]) -> T:
        """Return what a call in the thread returns. Cancelled, the call still runs to its end."""
        return await asyncio.wrap_future(self.begin(work))

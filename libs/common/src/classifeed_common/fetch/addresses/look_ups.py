"""LookUps: threads for name resolution, shared fairly between owners (ADR 0035)."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")

_THREADS: Final = 32
_PER_OWNER: Final = 4


class _Threads:
    def __init__(self, size: int) -> None:
        self.free = asyncio.Semaphore(size)
        self.users = 0


class LookUps:
    """Runs look-ups in its own threads, with a limit per owner.

    The system's resolver cannot be interrupted: a look-up that hangs occupies its thread even after its caller has
    given up. It counts against its owner's limit until then, so it delays only this owner. For use in one event loop.

    Args:
        threads: number of concurrent look-ups.
        per_owner: number of concurrent look-ups of one owner.
    """

    def __init__(self, *, threads: int = _THREADS, per_owner: int = _PER_OWNER) -> None:
        self._per_owner = per_owner
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="fetch-dns")
        self._owners: dict[str, _Threads] = {}

    async def run(self, owner: str, look_up: Callable[[], T]) -> T:
        """Run a blocking look-up in a thread of the owner's share; return its result, or raise its exception.

        After a cancellation of the caller the look-up still runs to its end.
        """
        threads = self._owners.setdefault(owner, _Threads(self._per_owner))
        threads.users += 1
        try:
            await threads.free.acquire()
        except BaseException:
            self._leave(owner, threads)
            raise
        loop = asyncio.get_running_loop()
        running = self._executor.submit(look_up)
        running.add_done_callback(functools.partial(self._ended, loop, owner, threads))
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Start no further look-ups; does not wait for running ones."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _ended(self, loop: asyncio.AbstractEventLoop, owner: str, threads: _Threads, _: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(self._free, owner, threads)

    def _free(self, owner: str, threads: _Threads) -> None:
        threads.free.release()
        self._leave(owner, threads)

    def _leave(self, owner: str, threads: _Threads) -> None:
        threads.users -= 1
        if not threads.users:
            del self._owners[owner]

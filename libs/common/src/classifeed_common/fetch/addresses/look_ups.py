"""LookUps: the threads that look names up, shared by those whom the downloads are for (ADR 0035)."""

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
    """Runs look-ups in threads of their own, of each owner a few at a time.

    The system's resolver cannot be interrupted: a look-up that hangs keeps its thread after whoever wanted it has given
    up. So an owner's share is counted until the thread is free again, and names that hang hold up their owner's alone.
    For use in one event loop.

    Args:
        threads: how many look-ups run at a time.
        per_owner: how many of one owner.
    """

    def __init__(self, *, threads: int = _THREADS, per_owner: int = _PER_OWNER) -> None:
        self._per_owner = per_owner
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="fetch-dns")
        self._owners: dict[str, _Threads] = {}

    async def run(self, owner: str, look_up: Callable[[], T]) -> T:
        """Return what a blocking look-up returns, or raise what it raises; waits for a thread of the owner's share.

        A caller that is cancelled leaves the thread to come to its end.
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
        """Start no more look-ups; does not wait for those that run."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _ended(self, loop: asyncio.AbstractEventLoop, owner: str, threads: _Threads, _: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._free, owner, threads)

    def _free(self, owner: str, threads: _Threads) -> None:
        threads.free.release()
        self._leave(owner, threads)

    def _leave(self, owner: str, threads: _Threads) -> None:
        threads.users -= 1
        if not threads.users:
            del self._owners[owner]

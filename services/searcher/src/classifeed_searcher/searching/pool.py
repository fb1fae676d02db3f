"""Pool of search processes; the service process keeps calls, states and consumers (ADR 0080)."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import structlog

from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.errors import Unavailable
from classifeed_common.pacing.backoff import Backoff
from classifeed_searcher.app.search_documents import search_here
from classifeed_searcher.app.search_index import prepare_search
from classifeed_searcher.metrics import SEARCH_PROCESSES_LOST
from classifeed_searcher.searching.process import SearchFailed, SearchInterrupted, SearchProcess
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

_log = structlog.get_logger(__name__)

_SUCCESSOR_S: Final = 10.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 30.0
_WATCH_S: Final = 1.0
_REFRESH_TICKS: Final = 10
_LIMIT_S: Final = 30.0
_ATTEMPTS: Final = 2
_ALONE: Final = 32
# Rarely, because an idle process responds more slowly. A prime, so that it is not always the same caller of a round.
_LOOK_EVERY: Final = 127


class SearchProcesses:
    """A fixed number of processes, started by the first search; a search goes to the least busy process.

    The service process searches until the first search process is ready, and if none starts. It also does short
    searches that do not overlap, because the round trip to a process takes a sixth of their time. If all processes are
    lost, searches wait for a new one: a search that ended a process must not end the service.

    Args:
        indexes: indexes by client.
        count: number of processes; 0: searches run in the service process.
        memory_mb: memory limit of each process in addition to the index files, in MB.
        children: watcher of the processes; None: they are not watched.
        limit_s: seconds after which a process is killed if a search has not returned.
    """

    def __init__(
        self,
        indexes: Mapping[str, LiveIndex],
        *,
        count: int,
        memory_mb: int,
        children: ChildProcesses | None = None,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._indexes = indexes
        self._count = count
        self._memory_mb = memory_mb
        self._children = children or ChildProcesses()
        self._limit_s = limit_s
        self._processes: list[SearchProcess] = []
        self._faults: dict[int, str] = {}
        self._changed = asyncio.Condition()
        self._has_served = False
        # Number of consecutive searches that did not overlap.
        self._alone = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that can search."""
        return [process.pid for process in self._ready()]

    def start(self) -> None:
        """Start the processes and their watch; the first search does it, too."""
        if self._count and not self._tasks:
            keepers = [self._keep(number) for number in range(self._count)]
            # A new context: they outlive the search that starts them, and must not have its request id and deadline.
            self._tasks = [
                asyncio.create_task(each, context=contextvars.Context()) for each in (*keepers, self._watch())
            ]

    async def close(self) -> None:
        """End the processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __call__(self, generation: IndexGeneration, request: SearchRequest) -> bytes:
        """Search one generation; return a serialized SearchResponse.

        Raises:
            InvalidArgument: the query, a filter, the sort or the page token is invalid; the message has the position.
            Unavailable: two processes could not finish the search; or one could not, the search may take long, and no
                other process is available.
        """
        if not self._count:
            return await search_here(generation, request)
        self.start()
        if self._is_alone():
            search = prepare_search(generation.index, request)
            if search.is_short:
                return search.run()
        lost, why = 0, ""
        while lost < _ATTEMPTS and (process := await self._least_busy()) is not None:
            try:
                return await process.search(generation, request)
            except SearchInterrupted as failure:
                lost, why = lost + 1, str(failure)
                _log.warning("searcher.search.interrupted", client=request.client, why=why)
            except SearchFailed as failure:
                _log.warning("searcher.search.failed", client=request.client, why=str(failure))
                break
        if lost == _ATTEMPTS or (lost and not prepare_search(generation.index, request).is_short):
            raise Unavailable(
                "SEARCH_INTERRUPTED",
                f"This search was interrupted where it was tried ({why}). It may take too long (more than "
                f"{self._limit_s:g} s) or too much memory (more than {self._memory_mb} MB): request less at once, or "
                f"try again.",
                retry_after_s=1,
            )
        return await search_here(generation, request)

    async def run(self, stop: asyncio.Event) -> None:
        """Wait until `stop` is set: processes start with the first search, and `close` ends them."""
        await stop.wait()

    def blocked(self) -> Mapping[str, str]:
        """Return the reason why processes do not start."""
        if not self._faults:
            return {}
        why = next(iter(self._faults.values()))
        return {
            "processes": (
                f"{len(self._faults)} of {self._count} do not start: {why}. Searches are made in the others, or in the "
                f"service's own; starting is retried. Check the limits of memory and of processes."
            )
        }

    def _is_alone(self) -> bool:
        """Return whether to do a short search in the service process, because recent searches did not overlap.

        Searches in the service process block it, so an overlap is not visible. Therefore 1 in 127 goes to a process.
        """
        self._alone = 0 if any(process.load for process in self._processes) else self._alone + 1
        return self._alone > _ALONE and self._alone % _LOOK_EVERY != 0

    async def _least_busy(self) -> SearchProcess | None:
        """Return the process with the fewest searches; wait for a new one if all were lost; None: there is none."""
        if self._has_served and not self._ready():
            with suppress(TimeoutError):
                async with asyncio.timeout(_SUCCESSOR_S), self._changed:
                    await self._changed.wait_for(lambda: self._ready() or not self._has_served)
        return min(self._ready(), key=lambda process: process.load, default=None)

    def _ready(self) -> list[SearchProcess]:
        """Return the processes that can search; the list may still contain one that has just ended."""
        return [process for process in self._processes if process.is_ready]

    async def _keep(self, number: int) -> None:
        """Keep one process running."""
        backoff = Backoff(2 * _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            try:
                process = SearchProcess(self._memory_mb, self._children)
            except OSError as error:
                why = str(error)
            else:
                try:
                    why = "" if await process.start() else "it did not become ready"
                    if not why:
                        self._faults.pop(number, None)
                        await self._serve(process)
                        SEARCH_PROCESSES_LOST.inc()
                        _log.warning("searcher.search_process.lost", pid=process.pid)
                finally:
                    await process.close()
            if why:
                pause_s = backoff.next_s()
                self._faults[number] = why
                _log.warning("searcher.search_process.not_started", why=why, retry_in_s=pause_s)
                await self._change(has_served=bool(self._ready()))
            else:
                pause_s = _FIRST_PAUSE_S
                backoff.reset()
            await asyncio.sleep(pause_s)

    async def _serve(self, process: SearchProcess) -> None:
        """Give searches to a process until it ends."""
        self._processes.append(process)
        await self._change(has_served=True)
        try:
            await process.ended.wait()
        finally:
            self._processes.remove(process)

    async def _change(self, *, has_served: bool) -> None:
        """Wake all searches that wait for a process."""
        async with self._changed:
            self._has_served = has_served
            self._changed.notify_all()

    async def _watch(self) -> None:
        """Kill processes that hang; let the others close replaced files of indexes that are not searched."""
        ticks = 0
        while True:
            await asyncio.sleep(_WATCH_S)
            ticks += 1
            for process in self._processes:
                if process.waits_s() > self._limit_s:
                    _log.warning("searcher.search_process.stands_still", pid=process.pid, waits_s=self._limit_s)
                    process.kill()
                elif ticks % _REFRESH_TICKS == 0:
                    for client in process.clients:
                        if (generation := self._indexes[client].generation) is not None:
                            process.refresh(client, generation)

"""Searches in processes beside the service's own, which keeps the calls, the states and the consumers (ADR 0080)."""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import structlog

from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_searcher.app import search_process
from classifeed_searcher.app.search_documents import search_here
from classifeed_searcher.app.search_process import LENGTH, Reply, Request
from classifeed_searcher.metrics import SEARCH_PROCESSES_LOST
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

_log = structlog.get_logger(__name__)

_START_S: Final = 30.0
_END_S: Final = 10.0
_SUCCESSOR_S: Final = 10.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 30.0
_WATCH_S: Final = 1.0
_REFRESH_TICKS: Final = 10
_LIMIT_S: Final = 30.0
_ATTEMPTS: Final = 2


class _Lost(Exception):
    """The process ended while it searched."""


class _Failed(Exception):
    """The process could not search; it lives."""


class SearchProcess(asyncio.Protocol):
    """One process: what it was given, and what comes back."""

    def __init__(self) -> None:
        self.clients: set[str] = set()
        self.ended = asyncio.Event()
        self.is_ready = False
        self._ready = asyncio.Event()
        self._waiting: dict[int, tuple[asyncio.Future[Reply], float]] = {}
        self._received = bytearray()
        self._number = 0
        self._transport: asyncio.WriteTransport | None = None
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", search_process.__name__, str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)  # noqa: S603
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._socket = ours

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    @property
    def load(self) -> int:
        """Return how many searches it has."""
        return len(self._waiting)

    def waits_s(self) -> float:
        """Return how long its oldest search has taken so far, in seconds; 0 where it has none."""
        now_s = asyncio.get_running_loop().time()
        return next((now_s - since_s for _, since_s in self._waiting.values()), 0.0)

    async def start(self) -> bool:
        """Wait until it can search; return whether it can."""
        await asyncio.get_running_loop().create_connection(lambda: self, sock=self._socket)
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                await self._ready.wait()
        return self.is_ready

    async def search(self, generation: IndexGeneration, request: SearchRequest) -> bytes:
        """Search; return a SearchResponse on the wire.

        Raises:
            InvalidArgument: the request is refused.
            _Lost, _Failed: see there.
        """
        self._number += 1
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Reply] = loop.create_future()
        self._waiting[self._number] = waiter, loop.time()
        self.clients.add(request.client)
        self._send(self._number, request.client, generation, request.SerializeToString())
        reply = await waiter
        if reply.response is not None:
            return reply.response
        if reply.refused is not None:
            raise InvalidArgument(**reply.refused)
        raise _Failed(reply.failure)

    def refresh(self, client: str, generation: IndexGeneration) -> None:
        """Have it look at what is current, so that it lets go what was replaced."""
        self._send(0, client, generation, None)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def close(self) -> None:
        """End it, and wait for its end."""
        (self._transport or self._socket).close()
        try:
            await asyncio.to_thread(self._process.wait, _END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            await asyncio.to_thread(self._process.wait)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to the process."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand over whole replies to those who wait for them."""
        received = self._received
        received += data
        while len(received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if len(received) < end:
                return
            reply = Reply(*pickle.loads(received[LENGTH.size : end]))  # noqa: S301 - from our own process
            del received[:end]
            waiter, _ = self._waiting.pop(reply.number, (None, 0.0))
            if waiter is None:
                self.is_ready = True
                self._ready.set()
            elif not waiter.done():
                waiter.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        """End the waiting of all: nothing comes any more."""
        self.is_ready = False
        self._ready.set()
        self.ended.set()
        for waiter, _ in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(_Lost())
        self._waiting.clear()

    def _send(self, number: int, client: str, generation: IndexGeneration, request: bytes | None) -> None:
        content = pickle.dumps(tuple(Request(number, client, str(generation.folder), generation.commits, request)))
        assert self._transport is not None
        self._transport.write(LENGTH.pack(len(content)) + content)


class SearchProcesses:
    """A fixed number of processes; a search goes to the one that has the fewest.

    Searches are made here until the first process is ready, and where none starts. After one was lost they wait for its
    successor: what ended a process must not end the service.

    Args:
        indexes: by client; what is current of each.
        count: how many; 0: searches are made in this process.
        limit_s: how long a search may take before its process is killed, in seconds.
    """

    def __init__(self, indexes: Mapping[str, LiveIndex], *, count: int, limit_s: float = _LIMIT_S) -> None:
        self._indexes = indexes
        self._count = count
        self._limit_s = limit_s
        self._processes: list[SearchProcess] = []
        self._changed = asyncio.Condition()
        self._has_served = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def pids(self) -> list[int]:
        """Return the ids of the processes that can search."""
        return [process.pid for process in self._ready()]

    def start(self) -> None:
        """Start the processes, and what watches them."""
        if self._count:
            keepers = [self._keep() for _ in range(self._count)]
            self._tasks = [asyncio.create_task(each) for each in (*keepers, self._watch())]

    async def close(self) -> None:
        """End the processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __call__(self, generation: IndexGeneration, request: SearchRequest) -> bytes:
        """Search one generation; return a SearchResponse on the wire.

        Raises:
            InvalidArgument: the query, a filter, the sort or the page token cannot be read; it says which and where.
            Unavailable: two processes ended while they searched for this.
        """
        for _ in range(_ATTEMPTS):
            process = await self._least_busy()
            if process is None:
                break
            try:
                return await process.search(generation, request)
            except _Lost:
                continue
            except _Failed as failure:
                _log.warning("searcher.search.failed", client=request.client, why=str(failure))
                break
        else:
            raise Unavailable(
                "SEARCH_INTERRUPTED",
                f"Two processes ended while they searched for this. It may take too long (more than "
                f"{self._limit_s:g} s) or too much memory: request less at once, or try again.",
                retry_after_s=1,
            )
        return await search_here(generation, request)

    async def _least_busy(self) -> SearchProcess | None:
        """Return the process with the fewest searches; None where there is none, and no lost one has a successor."""
        if self._has_served and not self._ready():
            with suppress(TimeoutError):
                async with asyncio.timeout(_SUCCESSOR_S), self._changed:
                    await self._changed.wait_for(lambda: self._ready() or not self._has_served)
        return min(self._ready(), key=lambda process: process.load, default=None)

    def _ready(self) -> list[SearchProcess]:
        """Return the processes that can search: one that has just ended is still among the others."""
        return [process for process in self._processes if process.is_ready]

    async def _keep(self) -> None:
        """Keep one process running."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                process = SearchProcess()
            except OSError as error:
                why = str(error)
            else:
                try:
                    why = "" if await process.start() else "it is not ready in time"
                    if not why:
                        await self._serve(process)
                        SEARCH_PROCESSES_LOST.inc()
                        _log.warning("searcher.search_process.lost", pid=process.pid)
                finally:
                    await process.close()
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S) if why else _FIRST_PAUSE_S
            if why:
                _log.warning("searcher.search_process.not_started", why=why, retry_in_s=pause_s)
                await self._change(has_served=bool(self._ready()))
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
        """Let those who wait for a process look again."""
        async with self._changed:
            self._has_served = has_served
            self._changed.notify_all()

    async def _watch(self) -> None:
        """End processes that stand still; of indexes that nobody searches, have replaced files let go."""
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

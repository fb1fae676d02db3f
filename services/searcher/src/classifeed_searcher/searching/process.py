"""The service's side of a search process: starts it, sends searches, kills it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.errors import InvalidArgument
from classifeed_searcher.engine.child_process import await_end, start_module
from classifeed_searcher.searching import worker
from classifeed_searcher.searching.wire import LENGTH, Reply, Request, pack, unpack_reply
from classifeed_searcher.store.generation import IndexGeneration

_START_S: Final = 30.0


class SearchInterrupted(Exception):
    """The search did not finish, or its process ended; do not try a long search in the service process."""


class SearchFailed(Exception):
    """The process could not begin the search; the service process may try it."""


class SearchProcess(asyncio.Protocol):
    """A search process with its pending searches.

    Args:
        memory_mb: memory limit of the process in addition to the index files, in MB.
        children: watcher of the process.

    Raises:
        OSError: the system cannot start a process.
    """

    def __init__(self, memory_mb: int, children: ChildProcesses) -> None:
        self.clients: set[str] = set()
        self.ended = asyncio.Event()
        self.is_ready = False
        self._ready = asyncio.Event()
        self._waiting: dict[int, tuple[asyncio.Future[Reply], int]] = {}
        self._received = bytearray()
        self._number = 0
        self._transport: asyncio.WriteTransport | None = None
        self._process, self._socket = start_module(worker.__name__, str(memory_mb))
        self._children = children
        self._child = children.add("search process", self.pid)
        self._start_call = self._child.begin()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def load(self) -> int:
        """The number of pending searches."""
        return len(self._waiting)

    def waits_s(self) -> float:
        """Return the age of its oldest search, in seconds; 0: it has none."""
        return self._child.waits_s

    async def start(self) -> bool:
        """Wait until the process can search; return whether it can."""
        await asyncio.get_running_loop().create_connection(lambda: self, sock=self._socket)
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                await self._ready.wait()
        return self.is_ready

    async def search(self, generation: IndexGeneration, request: SearchRequest) -> bytes:
        """Search; return a serialized SearchResponse.

        Raises:
            InvalidArgument: the request is invalid.
            SearchInterrupted: the search did not finish.
            SearchFailed: the search could not begin.
        """
        self._number += 1
        folder, content = str(generation.folder), request.SerializeToString()
        sent = Request(self._number, request.client, folder, generation.commits, content)
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[sent.number] = waiter, self._child.begin()
        self.clients.add(request.client)
        self._send(sent)
        try:
            reply = await waiter
        except asyncio.CancelledError:
            # A search that has begun continues, so it is watched until it replies.
            if sent.number in self._waiting:
                self._send(sent._replace(content=None))
            raise
        if reply.response is not None:
            return reply.response
        if reply.refused is not None:
            raise InvalidArgument(**reply.refused)
        raise (SearchInterrupted if reply.has_begun else SearchFailed)(reply.failure)

    def refresh(self, client: str, generation: IndexGeneration) -> None:
        """Let the process open the current generation, so that it closes replaced files."""
        self._send(Request(0, client, str(generation.folder), generation.commits, None))

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    async def close(self) -> None:
        """End the process, and wait for its end."""
        (self._transport or self._socket).close()
        try:
            await asyncio.to_thread(await_end, self._process)
        finally:
            self._children.remove(self._child)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to the process."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass complete replies to their waiting searches."""
        received = self._received
        received += data
        while len(received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if len(received) < end:
                return
            reply = unpack_reply(bytes(received[LENGTH.size : end]))
            del received[:end]
            waiter, call = self._waiting.pop(reply.number, (None, self._start_call))
            self._child.end(call)
            if waiter is None:
                self.is_ready = True
                self._ready.set()
            elif not waiter.done():
                waiter.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        """Fail all pending searches: there will be no reply."""
        self.is_ready = False
        self._ready.set()
        self.ended.set()
        for waiter, _ in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(SearchInterrupted("its process ended"))
        self._waiting.clear()

    def _send(self, request: Request) -> None:
        assert self._transport is not None
        self._transport.write(pack(request))

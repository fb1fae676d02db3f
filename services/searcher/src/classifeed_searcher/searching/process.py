"""One process that searches, as the service sees it: started, given searches, ended when it takes too long."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_common.errors import InvalidArgument
from classifeed_searcher.engine.child_process import await_end, start_module
from classifeed_searcher.searching import worker
from classifeed_searcher.searching.wire import LENGTH, Reply, Request, pack, unpack_reply
from classifeed_searcher.store.generation import IndexGeneration

_START_S: Final = 30.0


class ProcessLost(Exception):
    """The process ended while it searched."""


class SearchFailed(Exception):
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
        self._process, self._socket = start_module(worker.__name__)

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
            ProcessLost, SearchFailed: see there.
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
        raise SearchFailed(reply.failure)

    def refresh(self, client: str, generation: IndexGeneration) -> None:
        """Have it look at what is current, so that it lets go what was replaced."""
        self._send(0, client, generation, None)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def close(self) -> None:
        """End it, and wait for its end."""
        (self._transport or self._socket).close()
        await asyncio.to_thread(await_end, self._process)

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
            reply = unpack_reply(bytes(received[LENGTH.size : end]))
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
                waiter.set_exception(ProcessLost())
        self._waiting.clear()

    def _send(self, number: int, client: str, generation: IndexGeneration, request: bytes | None) -> None:
        assert self._transport is not None
        self._transport.write(pack(Request(number, client, str(generation.folder), generation.commits, request)))

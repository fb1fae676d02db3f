"""Test servers that represent the internet: raw, so that they can misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from classifeed_common.fetch import FetchFailed, FetchRequest
from classifeed_common.fetch.fetcher import Fetcher


@dataclass
class LoopbackRequest:
    """One received request."""

    target: str
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def left_alone(self) -> None:
        """Return when the client has disconnected."""
        await self.reader.read(-1)

    async def respond(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Words", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode(), body)


Handler = Callable[[LoopbackRequest], Awaitable[None]]


@dataclass
class Web:
    """A server that passes requests to its handler: one per connection, or all if it `keeps` connections."""

    handler: Handler
    keeps: bool = False
    requests: list[LoopbackRequest] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    port: int = 0

    def url(self, path: str = "/feed.xml", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            await self._serve_one(reader, writer)
            while self.keeps and not writer.is_closing():
                await self._serve_one(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        request = LoopbackRequest(first.split(" ")[1], headers, reader, writer)
        self.requests.append(request)
        await self.handler(request)


async def code_of(fetcher: Fetcher, request: FetchRequest | str, *args: object) -> FetchFailed:
    """Return the failure of a download; a download that succeeds fails the test."""
    request = FetchRequest(request) if isinstance(request, str) else request
    try:
        outcome = await fetcher.fetch(request, *args)  # type: ignore[arg-type]
    except FetchFailed as failed:
        return failed
    raise AssertionError(f"{request.url} was fetched: {outcome}")

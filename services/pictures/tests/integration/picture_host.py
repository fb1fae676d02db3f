"""A host of pictures on the loopback, which records every request with its time and supports conditional requests."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from PIL import Image, ImageDraw

_CONDITION = re.compile(rb"(?im)^If-None-Match: *([^\r]+)")
Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


def jpeg(number: int = 0, *, width: int = 640, height: int = 480) -> bytes:
    """Return a picture that is different for each number."""
    image = Image.new("RGB", (width, height), (number * 37 % 256, number * 91 % 256, 120))
    draw = ImageDraw.Draw(image)
    for stripe in range(12):
        left = (number * 53 + stripe * 71) % width
        draw.rectangle(
            (left, stripe * 40, left + 60, stripe * 40 + 30), fill=(stripe * 20, 255 - stripe * 20, number % 256)
        )
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


@dataclass
class PictureHost:
    """The pages by path, and the requests with their times."""

    port: int = 0
    pictures: dict[str, bytes] = field(default_factory=dict)
    responses: dict[str, Respond] = field(default_factory=dict)
    requests: list[tuple[float, str]] = field(default_factory=list)
    conditional: list[str] = field(default_factory=list)
    has_etags: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def put(self, path: str, content: bytes) -> str:
        """Serve a picture, and return its URL."""
        self.pictures[path] = content
        return self.url(path)

    def count(self, path: str) -> int:
        return sum(requested == path for _, requested in self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ")[1].decode()
                self.requests.append((time.monotonic(), path))
                if path in self.responses:
                    await self.responses[path](writer)
                    break
                condition = _CONDITION.search(head)
                if condition is not None:
                    self.conditional.append(path)
                await self._respond(writer, self.pictures.get(path), condition[1] if condition is not None else b"")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _respond(self, writer: asyncio.StreamWriter, content: bytes | None, condition: bytes) -> None:
        status, body = (b"200 OK", content) if content is not None else (b"404 Not Found", b"nothing here")
        etag = b'"%s"' % hashlib.sha256(body).hexdigest().encode()
        headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items()).encode()
        if self.has_etags:
            headers += b"ETag: %s\r\n" % etag
        if condition == etag:
            status, body = b"304 Not Modified", b""
        else:
            headers += b"Content-Type: image/jpeg\r\nContent-Length: %d\r\n" % len(body)
        writer.write(b"HTTP/1.1 %s\r\n%s\r\n" % (status, headers) + body)
        await writer.drain()


@asynccontextmanager
async def picture_host() -> AsyncIterator[PictureHost]:
    """Yield a listening host."""
    host = PictureHost()
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        for task in host.connections:
            task.cancel()
        await asyncio.gather(*host.connections, return_exceptions=True)

"""Hosts of pictures on the loopback, in a process of its own: `python -m bench.pictures.hosts COUNT`.

Each picture is of about 100 KB and looks a little unlike any other: the number in its path goes into entries of its
quantization table, so that nothing has to be encoded, and decoding any costs the same.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast

from PIL import Image

WIDTH: Final = 1024
HEIGHT: Final = 768
SIZE_BYTES: Final = 100_000
_QUALITIES: Final = range(95, 20, -3)
_TABLE: Final = b"\xff\xdb\x00\x43\x00"
_ENTRIES: Final = range(1, 8)  # of low frequencies, which no picture is without
_STEPS: Final = 8


@contextmanager
def hosts(count: int) -> Iterator[list[str]]:
    """Give addresses, host:port, of so many hosts."""
    command = [sys.executable, "-m", "bench.pictures.hosts", str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield [f"{name}:{port}" for name in names_of(count)]
    finally:
        process.communicate()


def names_of(count: int) -> list[str]:
    """Return so many addresses of this machine."""
    return [f"127.0.{1 + number // 250}.{1 + number % 250}" for number in range(count)]


def drawing() -> Image.Image:
    """Return a picture with details of all sizes, as photographs have them."""
    channels = []
    for _ in range(3):
        channel = Image.effect_noise((WIDTH // 2, HEIGHT // 2), 50)
        for scale in (8, 64):
            coarse = Image.effect_noise((WIDTH // scale, HEIGHT // scale), 120)
            channel = Image.blend(channel, coarse.resize(channel.size, Image.Resampling.BICUBIC), 0.6)
        channels.append(channel.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
    return Image.merge("RGB", channels)


def encoded(picture: Image.Image, most_bytes: int) -> bytes:
    """Return it as JPEG in the best quality that so many bytes suffice for."""
    content = b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=quality)
        content = buffer.getvalue()
        if len(content) <= most_bytes:
            break
    return content


def numbered(content: bytes, number: int) -> bytes:
    """Return a JPEG that no other number below two million has."""
    start = content.index(_TABLE) + len(_TABLE)
    varied = bytearray(content)
    for entry in _ENTRIES:
        number, step = divmod(number, _STEPS)
        varied[start + entry] += step
    return bytes(varied)


class _Host(asyncio.Protocol):
    """A connection: whatever is requested, its last number says which picture."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        while (end := self._head.find(b"\r\n\r\n")) >= 0:
            head, self._head = self._head[:end], self._head[end + 4 :]
            number = int(head.split(b" ", 2)[1].rsplit(b"/", 1)[1].removesuffix(b".jpg"))
            is_last = b"connection: close" in head.lower()
            kept = b"Connection: close\r\n" if is_last else b""
            body = numbered(self._content, number)
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n%sContent-Length: %d\r\n\r\n" % (kept, len(body))
            )
            self._transport.write(body)
            if is_last:
                self._transport.close()


async def _serve(count: int) -> None:
    content = encoded(drawing(), SIZE_BYTES)
    loop = asyncio.get_running_loop()
    first, *others = names_of(count)
    servers = [await loop.create_server(lambda: _Host(content), first, 0)]
    port = servers[0].sockets[0].getsockname()[1]
    if others:
        servers.append(await loop.create_server(lambda: _Host(content), others, port, backlog=1024))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))

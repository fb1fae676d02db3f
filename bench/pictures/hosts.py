"""Hosts of pictures on the loopback, in one process: `python -m bench.pictures.hosts COUNT DIVISOR`.

Each picture has about 100 KB divided by DIVISOR and differs a little from all others. The number in its path changes
entries of its quantization table, so that the hosts encode nothing and every picture costs the same to decode.

The suffix of a path selects the response: `.jpg` a picture, `.late` a picture after LATE_S, `.html` a page, `.png` a
decompression bomb, any other a 404.
"""

from __future__ import annotations

import asyncio
import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, cast

from PIL import Image

WIDTH: Final = 1024
HEIGHT: Final = 768
SIZE_BYTES: Final = 100_000
_QUALITIES: Final = range(95, 20, -3)
_TABLE: Final = b"\xff\xdb\x00\x43\x00"
_ENTRIES: Final = range(1, 8)  # low frequencies, which every picture has
_STEPS: Final = 8
LATE_S: Final = 4.0
_PAGE: Final = b"<html><title>Log in</title></html>"
_BOMB_SIDE: Final = 100_000


@dataclass(frozen=True)
class Hosts:
    """Running hosts.

    Attributes:
        addresses: Address of each host as host:port.
        process: Process of all hosts.
    """

    addresses: Sequence[str]
    process: subprocess.Popen[str]

    def requests(self) -> int:
        """Return the number of requests to all hosts so far."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("requests\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def hosts(count: int, *, divisor: int = 1) -> Iterator[Hosts]:
    """Yield `count` hosts with pictures of WIDTH, HEIGHT and SIZE_BYTES, each divided by `divisor`."""
    command = [sys.executable, "-m", "bench.pictures.hosts", str(count), str(divisor)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Hosts([f"{name}:{port}" for name in names_of(count)], process)
    finally:
        process.communicate()


def names_of(count: int) -> list[str]:
    """Return `count` addresses of this machine."""
    return [f"127.0.{1 + number // 250}.{1 + number % 250}" for number in range(count)]


def drawing(divisor: int = 1) -> Image.Image:
    """Return a picture of WIDTH and HEIGHT divided by `divisor`, with details of all sizes, as photographs have."""
    width, height = WIDTH // divisor, HEIGHT // divisor
    channels = []
    for _ in range(3):
        channel = Image.effect_noise((width // 2, height // 2), 50)
        for scale in (8, 64):
            coarse = Image.effect_noise((width // scale, height // scale), 120)
            channel = Image.blend(channel, coarse.resize(channel.size, Image.Resampling.BICUBIC), 0.6)
        channels.append(channel.resize((width, height), Image.Resampling.BICUBIC))
    return Image.merge("RGB", channels)


def encoded(picture: Image.Image, most_bytes: int) -> bytes:
    """Return a picture as JPEG in the best quality that fits into `most_bytes`."""
    content = b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=quality)
        content = buffer.getvalue()
        if len(content) <= most_bytes:
            break
    return content


def numbered(content: bytes, number: int) -> bytes:
    """Return a JPEG that differs for each number below two million."""
    start = content.index(_TABLE) + len(_TABLE)
    varied = bytearray(content)
    for entry in _ENTRIES:
        number, step = divmod(number, _STEPS)
        varied[start + entry] += step
    return bytes(varied)


def bomb() -> bytes:
    """Return a PNG of a few hundred bytes whose header declares 30 GB of pixels."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", _BOMB_SIDE, _BOMB_SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(100_000))),
        (b"IEND", b""),
    )
    framed = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


class _Contents:
    """The responses of the hosts, and the number of requests."""

    def __init__(self, divisor: int) -> None:
        self._picture = encoded(drawing(divisor), SIZE_BYTES // divisor)
        self._others = {"html": (b"text/html", _PAGE), "png": (b"image/png", bomb())}
        self.requests = 0

    def response(self, path: str) -> tuple[float, bytes, bytes]:
        """Return the delay in seconds, the head of a response and its body."""
        self.requests += 1
        number, _, suffix = path.rsplit("/", 1)[1].rpartition(".")
        if suffix in {"jpg", "late"}:
            body = numbered(self._picture, int(number))
            return LATE_S if suffix == "late" else 0, b"200 OK\r\nContent-Type: image/jpeg", body
        if suffix in self._others:
            kind, body = self._others[suffix]
            return 0, b"200 OK\r\nContent-Type: " + kind, body
        return 0, b"404 Not Found", b""


class _Host(asyncio.Protocol):
    """A connection that handles one request after another."""

    def __init__(self, contents: _Contents) -> None:
        self._contents = contents
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        while (end := self._head.find(b"\r\n\r\n")) >= 0:
            head, self._head = self._head[:end], self._head[end + 4 :]
            late_s, first, body = self._contents.response(head.split(b" ", 2)[1].decode())
            is_last = b"connection: close" in head.lower()
            kept = b"Connection: close\r\n" if is_last else b""
            response = b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (first, kept, len(body), body)
            if late_s:
                asyncio.get_running_loop().call_later(late_s, self._send, response, is_last)
            else:
                self._send(response, is_last)

    def _send(self, response: bytes, is_last: bool) -> None:
        self._transport.write(response)
        if is_last:
            self._transport.close()


async def _serve(count: int, divisor: int) -> None:
    contents = _Contents(divisor)
    loop = asyncio.get_running_loop()
    first, *others = names_of(count)
    servers = [await loop.create_server(lambda: _Host(contents), first, 0)]
    port = servers[0].sockets[0].getsockname()[1]
    if others:
        servers.append(await loop.create_server(lambda: _Host(contents), others, port, backlog=1024))
    print(port, flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(contents.requests, flush=True)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))

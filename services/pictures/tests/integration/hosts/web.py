"""Many hosts of pictures in a separate process, each with a loopback address; some of them are hostile.

Each request is recorded with the time at which the kernel received it, independent of the load of the machine. This
file is also the process: `python <this file> <json>`. It replies to each input line with the requests since the last
one.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
import struct
import sys
import time
import zlib
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final, TypeAlias

from PIL import Image

_SO_TIMESTAMPING: Final = 37
_BY_THE_KERNEL: Final = 1 << 3 | 1 << 4  # SOF_TIMESTAMPING_RX_SOFTWARE, SOF_TIMESTAMPING_SOFTWARE
_ESTABLISHED: Final = 1
_LINE_BYTES: Final = 1 << 27
_RETRY_AFTER_S: Final = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as its host saw it.

    Attributes:
        host: address of the host.
        at_s: time of its arrival.
        under_way: number of concurrent requests of the host, including this one.
        until_s: end of the pause that the response requested; 0: none.
    """

    host: str
    at_s: float
    under_way: int
    until_s: float


def address_of(number: int) -> str:
    """Return the address of a host."""
    return f"127.1.{number // 200}.{number % 200 + 1}"


@dataclass
class Web:
    """The running process.

    Attributes:
        port: port of all hosts.
        kinds: kinds of the hosts, by number.
        seen: requests that `read` has fetched.
    """

    process: asyncio.subprocess.Process
    port: int
    kinds: Sequence[str]
    seen: list[Seen] = field(default_factory=list)

    def url(self, number: int, path: str) -> str:
        return f"http://{address_of(number)}:{self.port}{path}"

    def hosts(self, *kinds: str) -> list[str]:
        """Return the addresses of the hosts of some kinds."""
        return [address_of(number) for number, kind in enumerate(self.kinds) if kind in kinds]

    async def read(self) -> list[Seen]:
        """Return all requests so far, in order of arrival."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        self.seen += [Seen(**each) for each in json.loads(await self.process.stdout.readline())]
        self.seen.sort(key=lambda each: each.at_s)
        return self.seen


@asynccontextmanager
async def many_hosts(kinds: Sequence[str]) -> AsyncIterator[Web]:
    """Yield hosts of these kinds, which are keys of `RESPONSES`."""
    arguments = (sys.executable, __file__, json.dumps(kinds))
    process = await asyncio.create_subprocess_exec(*arguments, stdin=PIPE, stdout=PIPE, limit=_LINE_BYTES)
    assert process.stdout is not None
    try:
        yield Web(process, int(await process.stdout.readline()), kinds)
    finally:
        process.kill()
        await process.communicate()


@dataclass(eq=False)
class Request:
    """A request that is being handled.

    Attributes:
        connection: connection of the request.
        path: requested path.
        is_over: whether the response is complete; set before its last byte, since the next request may follow at once.
        until_s: end of the pause that the response requests.
    """

    connection: socket.socket
    path: str
    is_over: bool = False
    until_s: float = 0.0

    def is_under_way(self) -> bool:
        """Return whether its response is incomplete and the client is still connected."""
        if self.is_over or self.connection.fileno() < 0:
            return False
        return self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.connection, data)

    async def respond(self, status: str, body: bytes = b"", headers: str = "") -> None:
        """Send a complete response."""
        self.is_over = True
        await self.send(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def _picture(request: Request) -> None:
    red, green, blue, _ = struct.pack(">I", zlib.crc32(request.path.encode()))
    buffer = io.BytesIO()
    Image.new("RGB", (96, 64), (red, green, blue)).save(buffer, "JPEG")
    await request.respond("200 OK", buffer.getvalue() + request.path.encode())


async def _silent(_request: Request) -> None:
    await asyncio.sleep(3600)


async def _slow_head(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nX-Words: ")
    while True:
        await request.send(b"x")
        await asyncio.sleep(0.2)


async def _endless(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\r\n")
    while True:
        await request.send(bytes(1 << 14))
        await asyncio.sleep(0.05)


async def _busy_for_seconds(request: Request) -> None:
    request.until_s = time.time() + _RETRY_AFTER_S
    await request.respond("429 Busy", headers=f"Retry-After: {_RETRY_AFTER_S}\r\n")


async def _busy_until_a_date(request: Request) -> None:
    request.until_s = int(time.time()) + _RETRY_AFTER_S + 1
    date = format_datetime(datetime.fromtimestamp(request.until_s, UTC), usegmt=True)
    await request.respond("429 Busy", headers=f"Retry-After: {date}\r\n")


async def _reset(request: Request) -> None:
    request.is_over = True
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n1234")
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()


async def _broken(request: Request) -> None:
    await request.respond("500 Broken")


async def _unavailable(request: Request) -> None:
    await request.respond("503 Away")


HEALTHY: Final = "healthy"
ASKS_TO_WAIT: Final = ("busy for seconds", "busy until a date")
RESPONSES: Final[dict[str, Callable[[Request], Awaitable[None]]]] = {
    HEALTHY: _picture,
    "silent": _silent,
    "slow head": _slow_head,
    "endless": _endless,
    "busy for seconds": _busy_for_seconds,
    "busy until a date": _busy_until_a_date,
    "reset": _reset,
    "broken": _broken,
    "unavailable": _unavailable,
}
HOSTILE: Final = tuple(kind for kind in RESPONSES if kind != HEALTHY)
_Noted: TypeAlias = tuple[str, float, int, Request]


class _Hosts:
    def __init__(self) -> None:
        self._noted: list[_Noted] = []
        self._open: defaultdict[str, list[Request]] = defaultdict(list)
        self._tasks: set[asyncio.Task[None]] = set()

    def listen(self, kinds: Sequence[str]) -> int:
        port = 0
        for number, kind in enumerate(kinds):
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _BY_THE_KERNEL)
            listener.setblocking(False)
            listener.bind((address_of(number), port))
            listener.listen(100)
            port = listener.getsockname()[1]
            self._start(self._accept(listener, address_of(number), kind))
        return port

    def take(self) -> list[Seen]:
        """Return recorded requests; those without a response yet are returned the next time."""
        whole = [each for each in self._noted if each[3].is_over or not each[3].is_under_way()]
        self._noted = [each for each in self._noted if each not in whole]
        return [Seen(host, at_s, under_way, request.until_s) for host, at_s, under_way, request in whole]

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket, host: str, kind: str) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            self._start(self._serve(connection, host, RESPONSES[kind]))

    async def _serve(self, connection: socket.socket, host: str, respond: Callable[[Request], Awaitable[None]]) -> None:
        connection.setblocking(False)
        with connection, suppress(ConnectionError):
            while (received := await _receive_head(connection)) is not None:
                at_s, path = received
                request = Request(connection, path)
                self._open[host] = [each for each in self._open[host] if each.is_under_way()] + [request]
                self._noted.append((host, at_s, len(self._open[host]), request))
                await respond(request)
                if connection.fileno() < 0:
                    return


async def _receive_head(connection: socket.socket) -> tuple[float, str] | None:
    """Return the kernel's time of a request, and its path; None if there is no further one."""
    head, at_s = b"", 0.0
    while not head.endswith(b"\r\n\r\n"):
        await _readable(connection)
        data, notes, *_ = connection.recvmsg(1 << 16, 256)
        if not data:
            return None
        seconds, nanoseconds = struct.unpack("2q", notes[0][2][:16])
        head, at_s = head + data, seconds + nanoseconds / 1e9
    return at_s, head.split(b" ")[1].decode()


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)


async def _main() -> None:
    hosts = _Hosts()
    sys.stdout.write(f"{hosts.listen(json.loads(sys.argv[1]))}\n")
    sys.stdout.flush()
    while await asyncio.to_thread(sys.stdin.readline):
        sys.stdout.write(json.dumps([asdict(each) for each in hosts.take()]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main())

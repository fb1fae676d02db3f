"""Clients that read nothing, send nothing, or are too many: the process stays small, serves others and closes them."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.measuring.memory import resident_bytes
from classifeed_devkit.testing.recovery import until

from .small_server import FILE_BYTES, WHOLE_BYTES

GROWTH_BYTES = 64 << 20


@dataclass
class Process:
    """A separate server process."""

    pid: int
    host: str
    port: int
    http: httpx.AsyncClient

    @property
    def resident_bytes(self) -> int:
        return resident_bytes(self.pid)

    def connect(self, stack: ExitStack, request: str = "") -> socket.socket:
        """Send a request and read nothing."""
        client = socket.socket()
        stack.enter_context(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect((self.host, self.port))
        client.sendall(request.encode())
        return client

    async def closed(self) -> dict[str, float]:
        """Return the counter of closed connections, by reason."""
        found = {}
        for line in (await self.http.get("/metrics")).text.splitlines():
            if line.startswith("classifeed_http_connections_closed_total{"):
                found[line.split('"')[1]] = float(line.split()[-1])
        return found


@pytest.fixture
async def started() -> AsyncIterator[Callable[..., Awaitable[Process]]]:
    """Start servers with given limits."""
    processes: list[asyncio.subprocess.Process] = []
    clients: list[httpx.AsyncClient] = []

    async def start(**limits: float) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("small_server.py")),
            json.dumps(limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        host, _, port = (await process.stdout.readline()).decode().strip().rpartition(":")
        clients.append(loopback_client(f"http://{host}:{port}"))
        return Process(process.pid, host, int(port), clients[-1])

    yield start
    for client in clients:
        await client.aclose()
    for process in processes:
        process.terminate()
        await process.wait()


def get(path: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"


def post(path: str, size: int) -> str:
    """Return the head of a request with a JSON body."""
    type_ = "Content-Type: application/json"
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{type_}\r\nContent-Length: {size}\r\n\r\n"


def received(client: socket.socket) -> int:
    """Return the number of bytes received until the connection is closed or reset."""
    count = 0
    try:
        while part := client.recv(1 << 20):
            count += len(part)
    except ConnectionResetError:
        pass
    return count


async def test_200_slow_readers_cost_little_and_others_are_served(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started(write_s=3600)
    assert len((await server.http.get("/file")).content) == FILE_BYTES
    before = server.resident_bytes
    with ExitStack() as stack:
        for _ in range(100):
            server.connect(stack, get("/file"))
            server.connect(stack, get("/whole"))
        for _ in range(3):
            assert len((await server.http.get("/file")).content) == FILE_BYTES
            assert (await server.http.get("/health/live")).status_code == 200
        # All slow readers are being served: 17 MB each would be 1.7 GB, and the whole bodies 100 MB.
        assert server.resident_bytes - before < GROWTH_BYTES
        busy = await server.http.get("/whole")
        assert (busy.status_code, busy.json()["reason"]) == (503, "RESPONSES_BUSY")
        assert int(busy.headers["retry-after"]) > 0


async def test_a_reader_that_takes_nothing_is_disconnected(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started(write_s=1)
    with ExitStack() as stack:
        slow = [server.connect(stack, get(path)) for path in ("/file", "/whole") * 5]

        async def all_are_closed() -> bool:
            return (await server.closed()).get("slow_reader") == len(slow)

        await until(all_are_closed)
        for client in slow:
            assert await asyncio.to_thread(received, client) < WHOLE_BYTES
    # Their memory is free again.
    assert len((await server.http.get("/whole")).content) == WHOLE_BYTES


async def test_a_client_that_sends_no_request_is_disconnected(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started(head_s=1)
    with ExitStack() as stack:
        clients = [server.connect(stack, sent) for sent in ("", "GET /file HTTP/1.1\r\nHost: loc")]
        assert [await asyncio.to_thread(received, client) for client in clients] == [0, 0]
    assert (await server.closed())["no_request"] == 2


async def test_of_too_many_connections_health_alone_is_served(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started(served=4, spare=2)
    with ExitStack() as stack:
        for _ in range(4):
            server.connect(stack, get("/file"))

        async def is_full() -> bool:
            response = await server.http.get("/whole")
            return response.status_code == 503

        await until(is_full)
        refused = await server.http.get("/whole")
        assert refused.json()["reason"] == "TOO_MANY_CONNECTIONS"
        assert refused.headers["connection"] == "close"
        assert (await server.http.get("/health/live")).status_code == 200
        spare = [server.connect(stack) for _ in range(3)]
        # The last one is not accepted.
        assert await asyncio.to_thread(received, spare[-1]) == 0

    async def has_room() -> bool:
        return (await server.http.get("/whole")).status_code == 200

    await until(has_room)


async def test_a_client_that_still_sends_gets_its_response(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started()
    size = 6 << 20
    head = (
        f"POST /refuse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    )
    with ExitStack() as stack:
        client = server.connect(stack, head)
        await asyncio.to_thread(client.sendall, b" " * size)
        response = await asyncio.to_thread(client.recv, 1 << 20)
        assert response.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("size", [50_000, 5_000_000])
async def test_a_head_that_is_too_large_is_400_and_no_reset(
    started: Callable[..., Awaitable[Process]], size: int
) -> None:
    server = await started()
    with ExitStack() as stack:
        client = server.connect(stack)
        await asyncio.to_thread(client.sendall, b"GET /" + b"a" * size)
        response = await asyncio.to_thread(client.recv, 1 << 20)
        assert response.startswith(b"HTTP/1.1 400 ")


async def test_a_body_that_nobody_reads_is_discarded_up_to_a_limit(started: Callable[..., Awaitable[Process]]) -> None:
    server = await started(discard_bytes=1 << 20)
    with ExitStack() as stack:
        client = server.connect(stack, post("/refuse", 100 << 20))
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            await asyncio.to_thread(client.sendall, bytes(100 << 20))
    assert (await server.closed())["unread_body"] == 1

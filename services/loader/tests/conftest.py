from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceServicer
from classifeed_common.rpc.context import Context


@dataclass
class Page:
    """The response of a path. `held` delays it until `release`; `endless` never stops sending."""

    content: bytes = b""
    status: int = 200
    etag: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    held: bool = False
    endless: bool = False


@dataclass
class Site:
    """A web server on the loopback that responds with `pages`.

    Attributes:
        requests: path and headers of each request, oldest first.
        most_open: highest number of concurrent requests.
    """

    port: int = 0
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    requested: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    most_open: int = 0
    _open: int = 0

    def url(self, path: str = "/feed.xml", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    async def respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._respond(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        try:
            await self._respond_to(head.decode("latin-1"), writer)
        finally:
            self._open -= 1

    async def _respond_to(self, request: str, writer: asyncio.StreamWriter) -> None:
        first, *lines = request.split("\r\n")
        path = first.split()[1]
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        self.requests.append((path, headers))
        self.requested.set()
        page = self.pages.get(path.partition("?")[0], Page(status=404))
        if page.held:
            await self.released.wait()
        if page.endless:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
        status, content = page.status, page.content
        if page.etag and headers.get("if-none-match") == page.etag.lower():
            status, content = 304, b""
        head = {"Content-Length": str(len(content)), "Connection": "close", **page.headers}
        if page.etag:
            head["ETag"] = page.etag
        writer.write(f"HTTP/1.1 {status} OK\r\n".encode())
        writer.write("".join(f"{name}: {value}\r\n" for name, value in head.items()).encode() + b"\r\n" + content)
        await writer.drain()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(site.respond(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Tasks(TaskServiceServicer):
    """A fake processor: creates one task per fetch, and none for bytes that are loaded already.

    Attributes:
        down: refuse all calls as UNAVAILABLE.
        refuses: refuse all calls permanently.
        drops_responses: number of tasks that are created without a response.
        held: if given, calls respond once it is set.
    """

    made: dict[tuple[str, str], list[tuple[CreateTaskRequest, Task]]] = field(default_factory=lambda: defaultdict(list))
    requests: list[CreateTaskRequest] = field(default_factory=list)
    down: bool = False
    refuses: bool = False
    drops_responses: int = 0
    held: asyncio.Event | None = None

    async def CreateTask(self, request: CreateTaskRequest, context: Context) -> Task:
        if self.down:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "away")
        if self.refuses:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "The format is not known here.")
        self.requests.append(request)
        task = self._task(request)
        if self.held is not None:
            await self.held.wait()
        if self.drops_responses:
            self.drops_responses -= 1
            await context.abort(grpc.StatusCode.INTERNAL, "broke after its commit")
        return task

    def _task(self, request: CreateTaskRequest) -> Task:
        made = self.made[request.seller_id, request.namespace]
        for before, task in made:
            if before.feed_loader_result_id == request.feed_loader_result_id:
                assert before.feed_loader_task_id == request.feed_loader_task_id
                return task
        if made and request.skip_if_loaded and _settings(made[-1][0]) == _settings(request):
            return made[-1][1]
        parent = f"sellers/{request.seller_id}/feeds/{request.namespace}"
        task = Task(
            name=f"{parent}/tasks/{len(made) + 1}",
            fetch=f"{parent}/fetches/{request.feed_loader_result_id}",
            task_id=len(made) + 1,
        )
        made.append((request, task))
        return task

    def count(self, namespace: str = "default") -> int:
        return len(self.made["shop", namespace])


def _settings(request: CreateTaskRequest) -> tuple[Any, ...]:
    return request.source_sha256, request.mode, request.disposition, request.format


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


@pytest.fixture
def page() -> type[Page]:
    return Page

"""The running service over real HTTP, and a receiver of its callbacks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import CleanwebServiceStub
from classifeed_cleanweb.bootstrap import build
from classifeed_cleanweb.settings import CleanwebSettings, Receiver
from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_common.rpc.client import open_channel
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until


@dataclass
class Inbox:
    """Receiver of callbacks: keeps them, and responds with `status` once it is `released`."""

    port: int = 0
    status: int = 200
    received: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.released.set()

    @property
    def tries(self) -> int:
        return len(self.tried)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                body = json.loads(await reader.readexactly(int(lines["content-length"])))
                self.tried.append(lines["x-request-id"])
                if self.status == 200:
                    self.received.append((lines["x-request-id"], body))
                await self.released.wait()
                writer.write(f"HTTP/1.1 {self.status} -\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
        writer.close()

    @property
    def keys(self) -> list[str]:
        return [body["verdicts"][0]["key"] for _, body in self.received]


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    inbox = Inbox()
    server = await asyncio.start_server(inbox.serve, "127.0.0.1", 0)
    inbox.port = server.sockets[0].getsockname()[1]
    yield inbox
    inbox.released.set()
    server.close()
    for writer in inbox.writers:
        writer.close()
    await server.wait_closed()


def request_of(
    text: str, key: str = "a", regions: tuple[int, ...] = (1, 225), *, number: int | str = 1, **changes: Any
) -> dict[str, Any]:
    """Return a request in the form that moderation sends."""
    return {
        "jsonrpc": "2.0",
        "method": "process",
        "params": {
            "service": "classifeed",
            "type": "text",
            "key": key,
            "body": {"text": text, "environment": "testing", "regions": list(regions)},
        }
        | changes,
        "id": number,
    }


@dataclass
class Cleanweb:
    """A running verdict service."""

    http: httpx.AsyncClient
    rpc: CleanwebServiceStub
    grpc_address: str
    http_app: Starlette
    keys: KeyStore
    rows: Callable[..., Awaitable[list[tuple[Any, ...]]]]

    async def process(
        self, text: str, *, key: str = "a", regions: tuple[int, ...] = (1, 225), **changes: Any
    ) -> dict[str, Any]:
        """Send a request as moderation does; return the JSON-RPC response."""
        response = await self.post(json.dumps(request_of(text, key, regions, **changes)).encode())
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found

    async def post(self, content: bytes, *, token: str | None = None) -> httpx.Response:
        token = token if token is not None else self.keys.issue("moderation", "cleanweb")
        headers = {"Content-Type": "application/json", "X-Ya-Service-Ticket": token}
        return await self.http.post("/v2/", content=content, headers=headers)


Start = Callable[..., Awaitable[Cleanweb]]


@pytest.fixture
async def cleanweb_database(migrated_database: Any) -> Database:
    """Return the test's database, which its processes share."""
    made: Database = await migrated_database("classifeed_cleanweb")
    return made


@pytest.fixture
async def start(cleanweb_database: Database, keys: KeyStore, inbox: Inbox) -> AsyncIterator[Start]:
    """Yield a factory: `await start(auto_pass=True)` starts another process over the same database."""
    database = cleanweb_database
    closing: list[Callable[[], Awaitable[None]]] = []

    async def rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async def make(**settings: Any) -> Cleanweb:
        receiver = Receiver(url=f"http://127.0.0.1:{inbox.port}/callback", audience="moderation")
        runner = build(
            CleanwebSettings(
                dsn=database.dsn,
                keys_dir=keys.directory,
                receivers={"classifeed/testing": receiver},
                drain_notice_s=0,
                **settings,
            )
        )
        stop = asyncio.Event()
        running = asyncio.create_task(runner.run(stop))
        await until(lambda: running.done() or runner.is_ready)
        channel = open_channel(runner.grpc_address, caller="operator", audience="cleanweb", keys=keys)
        http = loopback_client(f"http://{runner.http_address}")

        async def close() -> None:
            await channel.close()
            await http.aclose()
            stop.set()
            await running

        closing.append(close)
        app = runner.http_app(runner.role_names)
        return Cleanweb(http, CleanwebServiceStub(channel), runner.grpc_address, app, keys, rows)

    yield make
    for close in closing:
        await close()

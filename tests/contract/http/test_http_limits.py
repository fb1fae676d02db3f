"""Every HTTP route of every service: malformed paths, endless bodies, readers of bodies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest
from starlette.routing import Route
from starlette.types import Message
from tests.contract.http.http_services import OWN, SERVICES, built, methods_of, routes_of
from tests.docs.pages import ROOT

from classifeed_common.http.paths import CONVERTORS
from classifeed_common.http.receiving import BUDGET_BYTES
from classifeed_common.http.server import HttpServer, address_of, bind
from classifeed_common.http.uploads import UploadRoute

_PARAMETER: Final = re.compile(r"\{(\w+):(\w+)\}")
# Values that no parameter may have, as a request encodes them.
HOSTILE: Final = {
    "NUL": "a%00b",
    "CR LF": "a%0d%0ab",
    "DEL": "a%7f",
    "line separator": "a%E2%80%A8",
    "5,000 digits": "9" * 5000,
    "50,000 characters": "a" * 50_000,
    "50,000 escapes": "%41" * 16_666,
}
NO_NUMBERS: Final = ("word", "-1", "1.5", "1e5", "", "%20", "+1", "0x1", "1" * 19, "%D9%A1")
REFUSED: Final = frozenset({400, 404, 413, 415})
# One module reads bodies; forms are parsed from its chunks.
_READS_BODY: Final = re.compile(r"\brequest\.(body|json|form|stream)\(|\.receive\b|MultiPartParser\(|FormParser\(")
_READERS: Final = {
    "libs/common/src/classifeed_common/http/api/bodies.py",
    "services/pictures/src/classifeed_pictures/http/puts.py",
}


def hostile_paths(route: Route) -> Iterator[str]:
    """Yield paths of a route in which one parameter has a wrong value, and paths that begin like it."""
    for chosen in _PARAMETER.finditer(route.path):
        before = _PARAMETER.sub("1", route.path[: chosen.start()])
        after = _PARAMETER.sub("1", route.path[chosen.end() :])
        for value in (*HOSTILE.values(), *(NO_NUMBERS if chosen[2] == "number" else ())):
            yield f"{before}{value}{after}"
    for value in HOSTILE.values():
        yield f"{_PARAMETER.sub('1', route.path)}/{value}"


@pytest.mark.parametrize("service", SERVICES)
async def test_paths_of_the_wrong_form_are_refused_and_never_a_fault_or_a_reset(tmp_path: Path, service: str) -> None:
    async with built(service, tmp_path) as runner:
        runner._started = True
        app = runner.http_app(runner.role_names)
        listening = bind("127.0.0.1:0")
        server = HttpServer(app, listening)
        await server.start()
        address = address_of(listening)
        tried = 0
        for route in routes_of(app):
            for path in hostile_paths(route):
                for method in methods_of(route):
                    status = await status_of(address, method, path)
                    assert status in REFUSED, (method, path[:200], status)
                    tried += 1
        assert tried > 30
        await server.stop()


async def status_of(address: str, method: str, path: str) -> int:
    """Send a request without normalizing its path, and return the status of the response."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"{method} {path} HTTP/1.1\r\nHost: {OWN}\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    async with asyncio.timeout(60):
        response = await reader.read()
    writer.close()
    return int(response.split(b" ", 2)[1])


@pytest.mark.parametrize("service", SERVICES)
async def test_parameters_of_paths_have_types_with_limits(tmp_path: Path, service: str) -> None:
    async with built(service, tmp_path) as runner:
        for route in routes_of(runner.http_app(runner.role_names)):
            types = re.findall(r"\{\w+:?(\w*)\}", route.path)
            assert set(types) <= CONVERTORS, f"{route.path}: use one of {sorted(CONVERTORS)}"


class Endless(httpx.AsyncByteStream):
    """An endless body that counts the bytes that are read."""

    def __init__(self, head: bytes, piece: bytes) -> None:
        self.taken_bytes = 0
        self._head = head
        self._piece = piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._head
        while True:
            self.taken_bytes += len(self._piece)
            assert self.taken_bytes < BUDGET_BYTES
            yield self._piece


@pytest.mark.parametrize("service", SERVICES)
async def test_a_body_without_an_end_is_refused_at_a_limit(tmp_path: Path, service: str) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.jpg"\r\n\r\n'
    async with built(service, tmp_path) as runner:
        runner._started = True
        app = runner.http_app(runner.role_names)
        for route in routes_of(app):
            types = {"application/json": b"["}
            if isinstance(route, UploadRoute):
                types |= {"image/jpeg": b"", "multipart/form-data; boundary=x": form}
            for method in methods_of(route):
                for content_type, head in types.items():
                    body = Endless(head, b" " * (64 << 10))
                    headers = {"host": OWN, "content-type": content_type, "transfer-encoding": "chunked"}
                    status = await status_in_app(app, method, _PARAMETER.sub("1", route.path), headers, body)
                    assert body.taken_bytes <= 24 << 20, (method, route.path, content_type)
                    if body.taken_bytes > 1 << 16:
                        assert status == 413, (method, route.path, content_type, status)


async def status_in_app(app: object, method: str, path: str, headers: dict[str, str], body: Endless) -> int:
    """Return the status of a request whose body is sent only as far as the application reads it."""
    parts = aiter(body)
    status = 0

    async def receive() -> Message:
        return {"type": "http.request", "body": await anext(parts), "more_body": True}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"url=u",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8081), "scheme": "http", "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    async with asyncio.timeout(60):
        await app(scope, receive, send)  # type: ignore[operator]
    return status


def test_bodies_are_read_in_one_place() -> None:
    sources = [*ROOT.glob("libs/*/src/**/*.py"), *ROOT.glob("services/*/src/**/*.py")]
    found = {
        path.relative_to(ROOT).as_posix()
        for path in sources
        if "starlette" in (text := path.read_text("utf-8")) and _READS_BODY.search(text)
    }
    assert found <= _READERS, "read bodies by classifeed_common.http.api.bodies.Body, which has limits"

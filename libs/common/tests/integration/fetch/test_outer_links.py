"""Hostile URLs: no URL, look-up or redirect makes the fetcher dial this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import pytest

from classifeed_common.fetch import AddressGuard, Fetched, FetchRequest, KeepAlive
from classifeed_common.fetch.fetcher import Fetcher

from .conftest import Serve
from .loopback_web import LoopbackRequest, Web, code_of
from .outer_corpus import LITERALS, LOOKUPS, NAMES, OUTER, PORTS, REDIRECTS, RESOLVES_TO, SCHEMES, TRICKS

LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.0.0.53", "127.1.2.3", "127.255.255.254", "::1")
WEB_PORTS = (80, 443, 8080)
DIRECT = [*LITERALS, *NAMES, *TRICKS, *SCHEMES, *PORTS, *LOOKUPS]


@dataclass
class Canaries:
    """Listeners on loopback addresses that count connections."""

    port: int = 0
    connections: list[Any] = field(default_factory=list)
    servers: list[asyncio.Server] = field(default_factory=list)

    async def listen(self) -> None:
        await self._listen_everywhere()
        for port in WEB_PORTS:  # where the port is free, and we may listen
            with suppress(OSError):
                await self._on("127.0.0.1", port)
            with suppress(OSError):
                await self._on("::1", port)

    async def _listen_everywhere(self) -> None:
        """Listen on one port of every address; choose another if an address has it in use."""
        for _ in range(20):
            self.port = await self._on("127.0.0.1", 0)
            try:
                for host in LOOPBACK[1:]:
                    await self._on(host, self.port)
            except OSError as error:
                refused = error
                while self.servers:
                    self.servers.pop().close()
            else:
                return
        raise refused

    async def _on(self, host: str, port: int) -> int:
        server = await asyncio.start_server(self._connected, host, port)
        self.servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def _connected(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer.get_extra_info("sockname"))
        writer.transport.abort()


@pytest.fixture
async def canaries() -> AsyncIterator[Canaries]:
    canaries = Canaries()
    await canaries.listen()
    yield canaries
    for server in canaries.servers:
        server.close()


@dataclass
class World:
    """The internet: a resolver with any results, and one server for all of its hosts."""

    web: Web
    addresses: dict[str, list[list[str]]] = field(default_factory=dict)
    resolved: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)

    async def resolve(self, name: str) -> list[str]:
        """Return the next result for a host; unknown hosts are on this machine."""
        self.resolved.append(name)
        if name in self.addresses:
            return self.addresses[name].pop(0)
        label, _, domain = name.partition(".")
        if domain == "example.com" and label in RESOLVES_TO:
            return RESOLVES_TO[label]
        return [OUTER] if name == "good.example.com" else ["127.0.0.1"]


async def redirect(request: LoopbackRequest) -> None:
    """Redirect `/to/<text in hexadecimal digits>` to the text; nothing else exists."""
    if request.target.startswith("/to/"):
        location = bytes.fromhex(request.target.removeprefix("/to/"))
        await request.send(b"HTTP/1.1 302 Found\r\nLocation: ", location, b"\r\nContent-Length: 0\r\n\r\n")
    elif request.target == "/feed.xml":
        await request.respond(b"<feed/>")
    else:
        await request.respond(status=404)


@pytest.fixture
async def world(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(await serve(redirect))
    connect = httpcore.AnyIOBackend.connect_tcp

    async def dial(self: httpcore.AnyIOBackend, host: str, port: int, **options: Any) -> httpcore.AsyncNetworkStream:
        world.dialled.append(host)
        if host == OUTER:
            return await connect(self, "127.0.0.1", world.web.port, **options)
        if ip_address(host).is_global:
            raise httpcore.ConnectError("this test does not leave the machine")
        return await connect(self, host, port, **options)

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", dial)
    return world


@pytest.fixture(params=[0, 3600], ids=["none-kept", "kept"])
async def outer(request: pytest.FixtureRequest, world: World) -> AsyncIterator[Fetcher]:
    keep = KeepAlive(idle_s=request.param)
    world.web.keeps = bool(request.param)
    fetcher = Fetcher(guard=AddressGuard(resolver=world.resolve), keep=keep)
    yield fetcher
    await fetcher.close()


def is_plain_loopback(url: str) -> bool:
    try:
        return ip_address(url.split("/")[2].replace(":{port}", "").strip("[]")) in map(ip_address, LOOPBACK)
    except ValueError:
        return False


def test_the_corpus_is_large() -> None:
    assert len(set(DIRECT)) >= 300
    assert len(set(REDIRECTS)) >= 90


async def test_canaries_notice_whoever_comes(canaries: Canaries) -> None:
    for host in LOOPBACK:
        _, writer = await asyncio.open_connection(host, canaries.port)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    async with asyncio.timeout(60):
        while {name[0] for name in canaries.connections} != set(LOOPBACK):
            await asyncio.sleep(0.01)


async def test_no_link_of_the_corpus_is_dialled(
    outer: Fetcher, world: World, canaries: Canaries, tmp_path: Path
) -> None:
    async with asyncio.timeout(300):
        for template in DIRECT:
            url = template.replace("{port}", str(canaries.port))
            failed = await code_of(outer, url, tmp_path / "feed")
            assert failed.code.startswith(("URL_", "ADDRESS_", "DNS_")), url
            assert failed.message.endswith("."), url
    assert world.dialled == []
    assert canaries.connections == []
    assert list(tmp_path.iterdir()) == []


async def test_no_link_of_the_corpus_gets_a_connection_that_is_kept(
    outer: Fetcher, world: World, canaries: Canaries, tmp_path: Path
) -> None:
    """Names of the corpus that once pointed to public addresses have open connections."""
    port = canaries.port
    harmless = {"good.example.com", *(f"{label}.example.com" for label in RESOLVES_TO)}
    world.addresses = {name: [[OUTER]] for name in harmless}
    for name in harmless:
        await outer.fetch(FetchRequest(f"http://{name}:{port}/feed.xml"), tmp_path / "feed")
    dialled, requests = list(world.dialled), len(world.web.requests)
    world.addresses = {}
    async with asyncio.timeout(300):
        for template in DIRECT:
            await code_of(outer, template.replace("{port}", str(port)), tmp_path / "feed")
    assert (world.dialled, len(world.web.requests)) == (dialled, requests)
    assert canaries.connections == []


async def test_no_redirect_of_the_corpus_is_followed_to_the_inside(
    outer: Fetcher, world: World, canaries: Canaries, tmp_path: Path
) -> None:
    async with asyncio.timeout(300):
        for template in REDIRECTS:
            location = template.replace("{port}", str(canaries.port)).encode("utf-8", "surrogatepass")
            await code_of(outer, f"http://good.example.com/to/{location.hex()}", tmp_path / "feed")
    assert set(world.dialled) == {OUTER}
    assert len(world.web.requests) >= len(REDIRECTS)
    assert canaries.connections == []


async def test_a_redirect_is_checked_at_each_step(outer: Fetcher, canaries: Canaries, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{canaries.port}/"
    for _ in range(3):
        url = f"http://good.example.com/to/{url.encode().hex()}"
    failed = await code_of(outer, url, tmp_path / "feed")
    assert (failed.code, failed.http_status) == ("ADDRESS_REFUSED", 302)
    assert canaries.connections == []


async def test_a_name_that_changes_its_address_is_dialled_at_the_one_that_was_checked(
    outer: Fetcher, world: World, canaries: Canaries, tmp_path: Path
) -> None:
    world.addresses["rebind.example.com"] = [[OUTER], ["127.0.0.1"]]
    url = f"http://rebind.example.com:{canaries.port}/feed.xml"
    fetched = await outer.fetch(FetchRequest(url), tmp_path / "feed")
    assert isinstance(fetched, Fetched)
    assert world.resolved == ["rebind.example.com"]
    assert world.dialled == [OUTER]
    assert world.web.requests[0].headers["host"] == f"rebind.example.com:{canaries.port}"
    assert canaries.connections == []


async def test_a_name_is_looked_up_and_judged_anew_at_a_redirect(
    outer: Fetcher, world: World, canaries: Canaries, tmp_path: Path
) -> None:
    world.addresses["rebind.example.com"] = [[OUTER], ["127.0.0.1"], [OUTER]]
    url = f"http://rebind.example.com:{canaries.port}/to/{b'/feed.xml'.hex()}"
    failed = await code_of(outer, url, tmp_path / "feed")
    assert failed.code == "ADDRESS_REFUSED"
    assert world.resolved == ["rebind.example.com"] * 2
    assert world.dialled == [OUTER]
    assert canaries.connections == []


async def test_what_was_refused_inside_is_not_told(outer: Fetcher, tmp_path: Path) -> None:
    failed = await code_of(outer, "http://private-10.example.com/", tmp_path / "feed")
    assert failed.code == "ADDRESS_REFUSED"
    assert "10.1.2.3" not in failed.message


async def test_where_loopback_is_allowed_no_other_inner_address_is(world: World, tmp_path: Path) -> None:
    fetcher = Fetcher(guard=AddressGuard(allow_loopback=True, resolver=world.resolve))
    allowed = {"loopback", "loopback-2", "loopback-53", "loopback-6", "mixed", "mixed-first", "mixed-6"}
    for label in RESOLVES_TO.keys() - allowed:
        failed = await code_of(fetcher, f"http://{label}.example.com:8080/", tmp_path / "feed")
        assert failed.code in {"ADDRESS_REFUSED", "DNS_NOT_FOUND"}, label
    refused = [url for url in LITERALS if not is_plain_loopback(url)]
    assert len(refused) > 100
    for url in refused:
        await code_of(fetcher, url.replace("{port}", "8080"), tmp_path / "feed")
    assert world.dialled == []
    await fetcher.fetch(FetchRequest(world.web.url()), tmp_path / "feed")
    assert world.dialled == ["127.0.0.1"]


async def test_lookups_that_fail_have_their_words(world: World, tmp_path: Path) -> None:
    async def fails(name: str) -> list[str]:
        kinds = {"unknown.example.com": socket.EAI_NONAME, "mute.example.com": socket.EAI_AGAIN}
        raise socket.gaierror(kinds[name], "no")

    fetcher = Fetcher(guard=AddressGuard(resolver=fails))
    assert (await code_of(fetcher, "http://unknown.example.com/", tmp_path / "feed")).code == "DNS_NOT_FOUND"
    assert (await code_of(fetcher, "http://mute.example.com/", tmp_path / "feed")).code == "DNS_FAILED"


async def test_the_system_is_asked_for_the_absolute_name(monkeypatch: pytest.MonkeyPatch) -> None:
    request: list[str] = []

    def getaddrinfo(name: str, *_: Any, **__: Any) -> list[Any]:
        request.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (OUTER, 0)), (socket.AF_INET, 0, 0, "", (OUTER, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    guard = AddressGuard()
    assert await guard.resolve(guard.check_url("http://shop.example.com/")) == [ip_address(OUTER)]
    assert request == ["shop.example.com."]
    guard.close()

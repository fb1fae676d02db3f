"""Slow servers: every kind of slowness ends within the limits."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from classifeed_common.fetch import AddressGuard, Fetched, FetchLimits, FetchRequest
from classifeed_common.fetch.exchanging.storing import Storing
from classifeed_common.fetch.fetcher import Fetcher

from .conftest import Serve
from .loopback_web import Handler, LoopbackRequest, code_of

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
PATIENT = FetchLimits()
NEVER_S = 3600


async def drip(request: LoopbackRequest, piece: bytes) -> None:
    while True:
        await request.send(piece)
        await asyncio.sleep(0.01)


async def silent(request: LoopbackRequest) -> None:
    await request.left_alone()


async def slow_head(request: LoopbackRequest) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\n")
    await drip(request, b"X: a\r\n")


async def slow_letters(request: LoopbackRequest) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nX: ")
    await drip(request, b"a")


async def always_early_hints(request: LoopbackRequest) -> None:
    await drip(request, b"HTTP/1.1 103 Early Hints\r\n\r\n")


async def silent_body(request: LoopbackRequest) -> None:
    await request.send(HEAD, b"a few bytes")
    await request.left_alone()


async def slow_body(request: LoopbackRequest) -> None:
    await request.send(HEAD)
    await drip(request, b"a")


async def slow_chunks(request: LoopbackRequest) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await drip(request, b"1\r\na\r\n")


async def slow_chunk_head(request: LoopbackRequest) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await drip(request, b"0")


async def steady_body(request: LoopbackRequest) -> None:
    await request.send(HEAD)
    await drip(request, b"a" * 10_000)


async def many_tiny_chunks(request: LoopbackRequest) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await request.send(b"1;" + b"x" * 50 + b"\r\na\r\n")


@pytest.mark.parametrize(
    ("handler", "limits", "code"),
    [
        (silent, FetchLimits(read_s=0.3), "READ_TIMEOUT"),
        (slow_head, FetchLimits(read_s=0.3), "READ_TIMEOUT"),
        (slow_letters, FetchLimits(read_s=0.3), "READ_TIMEOUT"),
        (always_early_hints, FetchLimits(read_s=0.3), "READ_TIMEOUT"),
        (silent_body, FetchLimits(read_s=0.3), "READ_TIMEOUT"),
        # The window of the rate is as long as the accepted silence, so no pause of this test reaches it.
        (slow_body, FetchLimits(read_s=1), "TOO_SLOW"),
        (slow_chunks, FetchLimits(read_s=1), "TOO_SLOW"),
        (slow_chunk_head, FetchLimits(read_s=1), "TOO_SLOW"),
        (steady_body, FetchLimits(total_s=1), "TOTAL_TIMEOUT"),
        (silent, FetchLimits(total_s=0.3), "TOTAL_TIMEOUT"),
        (many_tiny_chunks, PATIENT, "PROTOCOL_ERROR"),
    ],
)
async def test_nobody_holds_us_up(
    handler: Handler, limits: FetchLimits, code: str, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(handler)
    async with asyncio.timeout(120):
        failed = await code_of(fetcher, web.url(), tmp_path / "feed", limits)
        assert failed.code == code
        while web.open_connections:
            await asyncio.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


async def test_time_runs_on_over_redirects(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def slow_redirect(request: LoopbackRequest) -> None:
        await asyncio.sleep(0.3)
        await request.respond(status=302, Location=request.target + "x")

    web = await serve(slow_redirect)
    failed = await code_of(fetcher, web.url("/"), tmp_path / "feed", FetchLimits(total_s=1))
    assert (failed.code, failed.http_status) == ("TOTAL_TIMEOUT", 302)


async def test_a_lookup_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    async def mute(_: str) -> list[str]:
        await asyncio.sleep(NEVER_S)
        return []

    fetcher = Fetcher(guard=AddressGuard(resolver=mute))
    failed = await code_of(fetcher, "http://shop.example.com/", tmp_path / "feed", FetchLimits(connect_s=0.1))
    assert failed.code == "DNS_FAILED"
    failed = await code_of(fetcher, "http://shop.example.com/", tmp_path / "feed", FetchLimits(total_s=0.1))
    assert failed.code == "TOTAL_TIMEOUT"


async def test_tls_that_does_not_begin_is_given_up(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        failed = await code_of(fetcher, url, tmp_path / "feed", FetchLimits(connect_s=0.2))
    assert failed.code == "CONNECT_TIMEOUT"


async def test_a_proxy_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    async def outside(_: str) -> list[str]:
        return ["93.184.216.34", "1.1.1.1"]

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        fetcher = Fetcher(guard=AddressGuard(resolver=outside), proxy=proxy)
        failed = await code_of(fetcher, "http://shop.example.com/", tmp_path / "feed", FetchLimits(connect_s=0.2))
    assert failed.code == "CONNECT_TIMEOUT"


async def test_a_slow_disk_is_not_the_servers_fault(
    fetcher: Fetcher, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Storing._write

    def slow_write(self: Storing, raw: bytes) -> None:
        time.sleep(0.5)
        write(self, raw)

    monkeypatch.setattr(Storing, "_write", slow_write)
    web = await serve(lambda request: request.respond(b"x" * 5_000_000))
    limits = FetchLimits(read_s=1, min_bytes_per_s=3_000_000)
    assert isinstance(await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed", limits), Fetched)

"""Kept connections: reused only for the same name at an address that was just checked, and only if clean."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from classifeed_common.fetch import AddressGuard, Fetched, FetchLimits, FetchRequest, KeepAlive, NotModified
from classifeed_common.fetch.fetcher import Fetcher

from .certificates import Authority
from .conftest import Serve
from .loopback_web import LoopbackRequest, Web, code_of

KEEP = KeepAlive(idle_s=3600)
SECRETS: dict[str, Any] = {"headers": {"X-Api-Key": "key"}, "basic_auth": ("seller", "password")}
PATIENT = FetchLimits(connect_s=120, read_s=120, total_s=120)


@asynccontextmanager
async def keeping(keep: KeepAlive = KEEP, **options: Any) -> AsyncIterator[Fetcher]:
    resolver, tls = options.pop("resolver", None), options.pop("tls", None)
    guard = AddressGuard(allow_loopback=True, resolver=resolver)
    fetcher = Fetcher(guard=guard, keep=keep, ssl_context=tls, limits=PATIENT, **options)
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def here(_: str) -> list[str]:
    return ["127.0.0.1"]


def resolver_of(*addresses: str) -> Callable[[str], Awaitable[list[str]]]:
    left = list(addresses)

    async def resolve(_: str) -> list[str]:
        return [left.pop(0)]

    return resolve


async def found(request: LoopbackRequest) -> None:
    await request.respond(request.target.encode() * 1000)


async def fetch(fetcher: Fetcher, url: str, tmp_path: Path, **options: Any) -> Fetched:
    fetched = await fetcher.fetch(FetchRequest(url, **options), tmp_path / "file")
    assert isinstance(fetched, Fetched)
    return fetched


async def until_closed(web: Web) -> None:
    async with asyncio.timeout(60):
        while web.open_connections:
            await asyncio.sleep(0.01)


async def test_a_connection_serves_request_after_request_and_carries_nothing_over(serve: Serve, tmp_path: Path) -> None:
    web = await serve(found, keeps=True)
    async with keeping() as fetcher:
        await fetch(fetcher, web.url("/first"), tmp_path, **SECRETS, etag='"v1"')
        for number in range(3):
            await fetch(fetcher, web.url(f"/{number}"), tmp_path)
            assert (tmp_path / "file").read_bytes() == f"/{number}".encode() * 1000
        assert (web.connections, len(web.requests)) == (1, 4)
    assert web.requests[0].headers["authorization"] == "Basic c2VsbGVyOnBhc3N3b3Jk"
    for request in web.requests[1:]:
        assert not {"x-api-key", "authorization", "if-none-match", "cookie"} & request.headers.keys()
        assert request.headers["connection"] == "keep-alive"
    await until_closed(web)  # `close` has closed it


async def test_redirects_and_unchanged_files_leave_it_open_too(serve: Serve, tmp_path: Path) -> None:
    async def handler(request: LoopbackRequest) -> None:
        if request.target == "/moved":
            await request.respond(status=302, Location="/here")
        elif "if-none-match" in request.headers:
            await request.send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 123\r\n\r\n")
        else:
            await request.respond(b"x")

    web = await serve(handler, keeps=True)
    async with keeping() as fetcher:
        await fetch(fetcher, web.url("/moved"), tmp_path)
        unchanged = await fetcher.fetch(FetchRequest(web.url("/here"), etag='"v1"'), tmp_path / "file")
        assert isinstance(unchanged, NotModified)
        await fetch(fetcher, web.url("/here"), tmp_path)
    assert (web.connections, len(web.requests)) == (1, 4)


async def test_none_is_kept_unless_asked_for(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(found, keeps=True)
    for _ in range(2):
        await fetch(fetcher, web.url(), tmp_path)
        await until_closed(web)
    assert web.connections == 2
    assert web.requests[0].headers["connection"] == "close"


@pytest.mark.parametrize("changed_to", ["10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
async def test_a_name_that_turns_inward_is_refused_although_its_connection_is_open(
    changed_to: str, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(found, keeps=True)
    async with keeping(resolver=resolver_of("127.0.0.1", changed_to)) as fetcher:
        url = web.url(host="shop.example.com")
        await fetch(fetcher, url, tmp_path)
        assert len(fetcher._connections) == 1
        assert (await code_of(fetcher, url, tmp_path / "file")).code == "ADDRESS_REFUSED"
    assert (web.connections, len(web.requests)) == (1, 1)


async def test_a_name_that_has_moved_does_not_use_the_connection_to_where_it_was(serve: Serve, tmp_path: Path) -> None:
    web = await serve(found, keeps=True)
    async with keeping(resolver=resolver_of("127.0.0.1", "127.0.0.2", "127.0.0.1")) as fetcher:
        url = web.url(host="shop.example.com")
        await fetch(fetcher, url, tmp_path)
        assert (await code_of(fetcher, url, tmp_path / "file")).code == "CONNECT_REFUSED"  # no server is there
        assert len(web.requests) == 1
        await fetch(fetcher, url, tmp_path)  # at the first address again: its connection still works
    assert (web.connections, len(web.requests)) == (1, 2)


async def test_another_name_at_the_same_address_has_a_connection_of_its_own(serve: Serve, tmp_path: Path) -> None:
    authority = Authority()
    context, names = authority.server("shop.example.com"), []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    web = await serve(found, tls=context, keeps=True)
    async with keeping(resolver=here, tls=ssl.create_default_context(cadata=authority.pem)) as fetcher:
        for _ in range(2):
            await fetch(fetcher, web.url(host="shop.example.com", scheme="https"), tmp_path)
        assert web.connections == 1
        failed = await code_of(fetcher, web.url(host="other.example.com", scheme="https"), tmp_path / "file")
    assert failed.code == "TLS_WRONG_NAME"
    assert names == ["shop.example.com", "other.example.com"]
    assert len(web.requests) == 2


def response(*lines: str, version: str = "1.1", body: bytes = b"four") -> bytes:
    return "\r\n".join([f"HTTP/{version} 200 OK", *lines, "", ""]).encode() + body


def record(size_bytes: int) -> bytes:
    body_bytes = size_bytes - len(response("Content-Length: 10000", body=b""))
    return response(f"Content-Length: {body_bytes}", body=b"x" * body_bytes)


ENDS = {
    "it says close": response("Content-Length: 4", "Connection: close"),
    "HTTP/1.0": response("Content-Length: 4", version="1.0"),
    "HTTP/1.0, which says that it keeps": response("Content-Length: 4", "Connection: keep-alive", version="1.0"),
    "more than the body": response("Content-Length: 4", body=b"four" + response("Content-Length: 4", body=b"evil")),
    "more than the last chunk": response("Transfer-Encoding: chunked", body=b"4\r\nfour\r\n0\r\n\r\nrest"),
    # TLS delivers a record of 16 KiB at a time; bytes after it stay in the connection's buffer.
    "more than the last record": record(16384) + response("Content-Length: 4", body=b"evil"),
    "a body that is not read": b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nbody",
    "a body that does not come": b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n",
    "a redirect with a body": b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 4\r\n\r\nbody",
    "a redirect with an endless body": b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "a broken encoding": response("Content-Length: 4", "Content-Encoding: gzip"),
    "an unknown encoding": response("Content-Length: 4", "Content-Encoding: zstd"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "a circle": b"HTTP/1.1 302 Found\r\nLocation: /file\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("first", ENDS.values(), ids=ENDS.keys())
async def test_what_did_not_come_to_a_clean_end_is_not_kept(
    first: bytes, tls: bool, serve: Serve, tmp_path: Path
) -> None:
    authority = Authority()

    async def handler(request: LoopbackRequest) -> None:
        await (request.send(first) if request is web.requests[0] else request.respond(b"good"))

    web = await serve(handler, keeps=True, tls=authority.server("shop.example.com") if tls else None)
    trusting = ssl.create_default_context(cadata=authority.pem)
    async with keeping(KeepAlive(idle_s=3600), resolver=here, tls=trusting) as fetcher:
        url = web.url("/file", "shop.example.com", "https" if tls else "http")
        await asyncio.gather(fetcher.fetch(FetchRequest(url), tmp_path / "file"), return_exceptions=True)
        first_connection = web.requests[0].writer
        await fetch(fetcher, web.url("/next", "shop.example.com", "https" if tls else "http"), tmp_path)
        assert (tmp_path / "file").read_bytes() == b"good"
        assert all(request.writer is not first_connection for request in web.requests[1:])


async def test_a_download_that_is_cancelled_or_breaks_a_limit_leaves_no_connection(
    serve: Serve, tmp_path: Path
) -> None:
    part = asyncio.Event()

    async def stalls(request: LoopbackRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x" * 50_000)
        part.set()
        await request.left_alone()

    web = await serve(stalls, keeps=True)
    async with keeping() as fetcher:
        download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "file"))
        await part.wait()
        download.cancel()
        await asyncio.gather(download, return_exceptions=True)
        for limits in (FetchLimits(read_s=0.2), FetchLimits(max_bytes=1000), FetchLimits(total_s=0.2)):
            await code_of(fetcher, web.url(), tmp_path / "file", limits)
        assert len(fetcher._connections) == 0
        await until_closed(web)
    assert web.connections == 4


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("late", [response("Content-Length: 4", body=b"evil"), b""], ids=["bytes", "end"])
async def test_bytes_and_ends_on_an_idle_connection_drop_it(
    late: bytes, tls: bool, serve: Serve, tmp_path: Path
) -> None:
    authority = Authority()
    web = await serve(found, keeps=True, tls=authority.server("shop.example.com") if tls else None)
    trusting = ssl.create_default_context(cadata=authority.pem)
    async with keeping(resolver=here, tls=trusting) as fetcher:
        url = web.url("/file", "shop.example.com", "https" if tls else "http")
        await fetch(fetcher, url, tmp_path)
        (stream,) = [kept.stream for kept in fetcher._connections._kept._connections]
        for times in (1, 2):  # before the sweep, and by the sweep
            if late:
                await web.requests[-1].send(late)
            else:
                web.requests[-1].writer.close()
            async with asyncio.timeout(60):
                while not stream.get_extra_info("is_readable"):
                    await asyncio.sleep(0)
                if times == 1:
                    await fetch(fetcher, url, tmp_path)
                    assert (tmp_path / "file").read_bytes() == b"/file" * 1000
                    assert web.connections == 2
                    (stream,) = [kept.stream for kept in fetcher._connections._kept._connections]
                else:
                    while len(fetcher._connections):
                        await asyncio.sleep(0.01)
        await until_closed(web)


async def test_a_request_that_met_a_closing_connection_is_repeated_once_on_a_new_one(
    serve: Serve, tmp_path: Path
) -> None:
    async def closes_at_the_second(request: LoopbackRequest) -> None:
        if request.target in {"/first", "/second"} and request not in refused:
            refused.append(request)
            if request.target == "/second":
                request.writer.close()
                return
        await request.respond(b"x")

    refused: list[LoopbackRequest] = []
    web = await serve(closes_at_the_second, keeps=True)
    async with keeping() as fetcher:
        await fetch(fetcher, web.url("/first"), tmp_path)
        failed = await code_of(fetcher, web.url("/second"), tmp_path / "file")
        assert failed.code == "CONNECTION_LOST"
        targets = [request.target for request in web.requests]
        assert targets == ["/first", "/second", "/second"]
        assert web.connections == 2
        refused.append(refused[-1])

    async def closes_once(request: LoopbackRequest) -> None:
        if len(once.requests) == 2:
            request.writer.close()
        else:
            await request.respond(b"x")

    once = await serve(closes_once, keeps=True)
    async with keeping() as fetcher:
        for number in range(3):
            await fetch(fetcher, once.url(f"/{number}"), tmp_path)
    assert [request.target for request in once.requests] == ["/0", "/1", "/1", "/2"]
    assert once.connections == 2


@pytest.mark.parametrize("begun", [b"H", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour"])
async def test_a_response_that_had_begun_is_not_requested_again(begun: bytes, serve: Serve, tmp_path: Path) -> None:
    async def handler(request: LoopbackRequest) -> None:
        if request.target == "/first":
            await request.respond(b"x")
        else:
            await request.send(begun)
            request.writer.close()

    web = await serve(handler, keeps=True)
    async with keeping() as fetcher:
        await fetch(fetcher, web.url("/first"), tmp_path)
        assert (await code_of(fetcher, web.url("/second"), tmp_path / "file")).code in {"CONNECTION_LOST", "TRUNCATED"}
    assert [request.target for request in web.requests] == ["/first", "/second"]


async def test_so_many_are_kept_for_a_host_and_in_all(serve: Serve, tmp_path: Path) -> None:
    gate = asyncio.Barrier(3)

    async def together(request: LoopbackRequest) -> None:
        if request.target != "/alone":
            await gate.wait()
        await request.respond(b"x")

    webs = [await serve(together, keeps=True) for _ in range(3)]
    async with keeping(KeepAlive(idle_s=3600, per_host=2, overall=3)) as fetcher:
        for web, kept in zip(webs, (2, 3, 3), strict=True):
            jobs = (fetcher.fetch(FetchRequest(web.url(f"/{n}")), tmp_path / str(n)) for n in range(3))
            await asyncio.gather(*jobs)
            assert len(fetcher._connections) == kept
        await fetcher.fetch(FetchRequest(webs[2].url("/alone")), tmp_path / "file")
        assert webs[2].connections == 3


async def test_after_its_time_a_connection_is_closed(serve: Serve, tmp_path: Path) -> None:
    web = await serve(found, keeps=True)
    async with keeping(KeepAlive(idle_s=0.2)) as fetcher:
        for number in (1, 2):
            await fetch(fetcher, web.url(), tmp_path)
            await until_closed(web)
            assert (web.connections, len(fetcher._connections)) == (number, 0)


async def test_the_lowest_rate_is_that_of_each_request(serve: Serve, tmp_path: Path) -> None:
    async def takes_its_time(request: LoopbackRequest) -> None:
        await asyncio.sleep(2.5)
        await request.respond(b"x")

    web = await serve(takes_its_time, keeps=True)
    limits = FetchLimits(read_s=4, total_s=120, min_bytes_per_s=10_000)
    async with keeping() as fetcher:
        for _ in range(3):
            await fetcher.fetch(FetchRequest(web.url()), tmp_path / "file", limits)
    assert web.connections == 1

"""The result of a download, and the state after a failure."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import shutil
import threading
import tracemalloc
import zlib
from collections import namedtuple
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import brotli
import pytest

from classifeed_common.fetch import AddressGuard, Fetched, FetchLimits, FetchRequest, NotModified
from classifeed_common.fetch.exchanging import storing as storing_module
from classifeed_common.fetch.faults import FEED_FIXES, PICTURE_FIXES
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.fetch.permits import NoPermit, Permit

from .conftest import Serve
from .loopback_web import LoopbackRequest, code_of

BODY = b"".join(b"<offer id='%d'/>\n" % number for number in range(200_000))
FREE = namedtuple("FREE", ["total", "used", "free"])


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


async def test_a_file_is_stored_as_it_came_with_its_hash_and_validators(
    fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    headers = {"ETag": '"v1"', "Last_Modified": "Thu, 05 Nov 2026 12:00:00 GMT", "Content_Type": "text/xml"}
    web = await serve(lambda request: request.respond(BODY, **headers))
    (tmp_path / "feed").write_text("the one before")
    fetched = await fetcher.fetch(FetchRequest(web.url("/feed.xml?key=1")), tmp_path / "feed")
    assert fetched == Fetched(
        sha256=hashlib.sha256(BODY).hexdigest(),
        size_bytes=len(BODY),
        final_url=web.url("/feed.xml?key=1"),
        etag='"v1"',
        last_modified="Thu, 05 Nov 2026 12:00:00 GMT",
        http_status=200,
        content_type="text/xml",
    )
    assert (tmp_path / "feed").read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["feed"]
    (request,) = web.requests
    assert request.target == "/feed.xml?key=1"
    assert request.headers == {
        "host": f"127.0.0.1:{web.port}",
        "user-agent": "Classifeed/0.1 (+feeds)",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate, br",
        "connection": "close",
    }


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("X-GZip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:999]) + gzip.compress(b"") + gzip.compress(data[999:]) + b"\0" * 50),
        ("deflate", zlib.compress),
        ("deflate", bare_deflate),
        ("br", lambda data: brotli.compress(data, quality=5)),
        ("identity", bytes),
    ],
)
async def test_transfer_compression_is_undone(
    encoding: str, encode: Callable[[bytes], bytes], fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    data = BODY + os.urandom(300_000) + bytes(3_000_000)
    web = await serve(lambda request: request.respond(encode(data), Content_Encoding=encoding))
    fetched = await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed")
    assert isinstance(fetched, Fetched)
    assert fetched.size_bytes == len(data)
    assert fetched.sha256 == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "feed").read_bytes() == data


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress, bare_deflate, brotli.compress])
@pytest.mark.parametrize("step", [1, 7, 4096])
async def test_an_encoded_body_may_come_in_any_pieces(
    encode: Callable[[bytes], bytes], step: int, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    encoded = encode(BODY[:20_000])
    name = {gzip.compress: "gzip", brotli.compress: "br"}.get(encode, "deflate")

    async def in_chunks(request: LoopbackRequest) -> None:
        head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: {name}\r\n\r\n".encode()
        pieces = [encoded[at : at + step] for at in range(0, len(encoded), step)]
        await request.send(head, b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces), b"0\r\n\r\n")

    web = await serve(in_chunks)
    fetched = await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed")
    assert isinstance(fetched, Fetched)
    assert fetched.sha256 == hashlib.sha256(BODY[:20_000]).hexdigest()


@pytest.mark.parametrize(
    ("body", "headers"),
    [(b"", {}), (b"", {"Content_Encoding": "gzip"}), (gzip.compress(b""), {"Content_Encoding": "gzip"})],
    ids=["plain", "nothing where gzip is named", "gzip of nothing"],
)
async def test_an_empty_file_is_a_failure_and_leaves_the_one_before(
    body: bytes, headers: dict[str, str], fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(body, **headers))
    (tmp_path / "feed").write_text("the one before")
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert (failed.code, failed.http_status, failed.bytes_received) == ("EMPTY_RESPONSE", 200, len(body))
    assert "empty file" in failed.message
    assert [path.name for path in tmp_path.iterdir()] == ["feed"]
    assert (tmp_path / "feed").read_text() == "the one before"


async def test_each_caller_has_fixes_of_its_own(serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.respond(status=410))
    for fixes in (FEED_FIXES, PICTURE_FIXES):
        fetcher = Fetcher(guard=AddressGuard(allow_loopback=True), fixes=fixes)
        failed = await code_of(fetcher, web.url(), tmp_path / "file")
        assert str(failed) == failed.message
        assert failed.message.endswith(f"responded with status 410. {fixes['HTTP_GONE']}")
        await fetcher.close()


async def test_a_file_that_is_an_archive_stays_one(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    archive = gzip.compress(BODY)
    web = await serve(lambda request: request.respond(archive, Content_Type="application/gzip"))
    await fetcher.fetch(FetchRequest(web.url("/feed.xml.gz")), tmp_path / "feed")
    assert (tmp_path / "feed").read_bytes() == archive


async def test_a_body_may_end_with_the_connection(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.send(b"HTTP/1.0 200 OK\r\n\r\n", BODY))
    fetched = await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed")
    assert isinstance(fetched, Fetched)
    assert fetched.size_bytes == len(BODY)


async def test_a_file_the_caller_has_is_not_sent_again(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def conditional(request: LoopbackRequest) -> None:
        if request.headers.get("if-none-match") == '"v1"':
            await request.send(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\nContent-Length: 12345\r\n\r\n')
        else:
            await request.respond(b"new", ETag='"v1"')

    web = await serve(conditional)
    first = await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed")
    assert isinstance(first, Fetched)
    date = "Thu, 05 Nov 2026 12:00:00 GMT"
    again = FetchRequest(web.url(), etag=first.etag, last_modified=date)
    assert await fetcher.fetch(again, tmp_path / "again") == NotModified(304, '"v1"', date, web.url())
    assert web.requests[1].headers["if-modified-since"] == date
    assert not (tmp_path / "again").exists()


async def test_not_modified_is_no_answer_to_who_has_nothing(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.respond(status=304))
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert (failed.code, failed.http_status) == ("HTTP_UNEXPECTED", 304)
    # A validator that is not valid in a header is not sent.
    failed = await code_of(fetcher, FetchRequest(web.url(), etag="x\r\nX-Evil: 1"), tmp_path / "feed")
    assert failed.code == "HTTP_UNEXPECTED"
    assert "x-evil" not in web.requests[1].headers


def chunked(*parts: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it", "TRUNCATED"),
        (chunked(b"a\r\nhalf of it\r\n"), "TRUNCATED"),
        (chunked(b"a\r\nhalf"), "TRUNCATED"),
        (chunked(b"zz\r\nhalf"), "PROTOCOL_ERROR"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(BODY)[:-9], "TRUNCATED"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + zlib.compress(BODY)[:-9], "TRUNCATED"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + brotli.compress(BODY, quality=5)[:-9], "TRUNCATED"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip at all", "ENCODING_BROKEN"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\xff\xff\xff", "ENCODING_BROKEN"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\xff\xff\xff", "ENCODING_BROKEN"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\nx", "ENCODING_UNKNOWN"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\nx", "ENCODING_UNKNOWN"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n\r\nx", "ENCODING_UNKNOWN"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "PROTOCOL_ERROR"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", "PROTOCOL_ERROR"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", "HEADERS_TOO_LARGE"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 50_000 + b"\r\n", "HEADERS_TOO_LARGE"),
        (b"SSH-2.0-OpenSSH_9.6\r\nInvalid SSH identification string.\r\n\r\n", "PROTOCOL_ERROR"),
        (b"<html>\r\n\r\n", "PROTOCOL_ERROR"),
        (b"HTTP/1.1 200 OK\r\n", "CONNECTION_LOST"),
        (b"", "CONNECTION_LOST"),
    ],
)
async def test_a_broken_answer_leaves_nothing(
    response: bytes, code: str, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    async def send(request: LoopbackRequest) -> None:
        await request.send(response)
        request.writer.write_eof()
        await request.left_alone()

    web = await serve(send)
    (tmp_path / "feed").write_text("the one before")
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert failed.code == code
    assert (tmp_path / "feed").read_text() == "the one before"
    assert [path.name for path in tmp_path.iterdir()] == ["feed"]


async def test_bytes_that_came_are_counted_in_a_failure(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it"))
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert (failed.http_status, failed.bytes_received) == (200, 10)


async def test_a_file_over_the_limit_is_refused_before_and_while_it_comes(
    fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    limits = FetchLimits(max_bytes=1_000_000)
    announced = await serve(lambda request: request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000001\r\n\r\n"))
    failed = await code_of(fetcher, announced.url(), tmp_path / "feed", limits)
    assert (failed.code, failed.bytes_received) == ("TOO_LARGE", 0)

    async def endless(request: LoopbackRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await request.send(b"x" * 65536)

    web = await serve(endless)
    failed = await code_of(fetcher, web.url(), tmp_path / "feed", limits)
    assert failed.code == "TOO_LARGE"
    assert failed.bytes_received < 1_200_000
    exact = await serve(lambda request: request.respond(b"x" * 1_000_000))
    assert isinstance(await fetcher.fetch(FetchRequest(exact.url()), tmp_path / "feed", limits), Fetched)


async def test_what_follows_an_encoded_file_counts_as_well(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def endless(request: LoopbackRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(b"x"))
        while True:
            await request.send(bytes(65536))

    web = await serve(endless)
    failed = await code_of(fetcher, web.url(), tmp_path / "feed", FetchLimits(max_bytes=3_000_000))
    assert failed.code == "TOO_LARGE"


def gzip_of_zeros() -> bytes:
    return gzip.compress(bytes(100 << 20), compresslevel=6) * 100


def brotli_of_zeros() -> bytes:
    compressed: bytes = brotli.compress(bytes(1 << 30), quality=1)
    return compressed


@pytest.mark.parametrize(("encoding", "bomb"), [("gzip", gzip_of_zeros), ("br", brotli_of_zeros)])
async def test_a_bomb_is_refused_long_before_it_is_unfolded(
    encoding: str, bomb: Callable[[], bytes], fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    body = bomb()
    web = await serve(lambda request: request.respond(body, Content_Encoding=encoding))
    peak_bytes = 0
    write = storing_module.Storing._write

    def watched(self: storing_module.Storing, raw: bytes) -> None:
        nonlocal peak_bytes
        try:
            write(self, raw)
        finally:
            peak_bytes = max(peak_bytes, self.size_bytes)

    tracemalloc.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storing_module.Storing, "_write", watched)
        failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    memory_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert failed.code == "RATIO_TOO_HIGH"
    assert peak_bytes < 256 << 20
    assert memory_bytes < len(body) + (16 << 20)
    assert list(tmp_path.iterdir()) == []
    failed = await code_of(fetcher, web.url(), tmp_path / "feed", FetchLimits(max_bytes=20 << 20))
    assert failed.code == "TOO_LARGE"


async def test_no_room_on_the_disk_is_ours_to_solve(
    fetcher: Fetcher, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = await serve(lambda request: request.respond(b"x" * 40_000_000))
    free = 256 << 20
    looks = 0

    def usage(_: Path) -> FREE:
        nonlocal looks
        looks += 1
        return FREE(0, 0, free + 40_000_000 if looks <= stays_free_for else free - 1)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    for stays_free_for in (0, 1):
        looks = 0
        failed = await code_of(fetcher, web.url(), tmp_path / "feed")
        assert failed.code == "DISK_FULL"
        assert (failed.bytes_received > 0) == bool(stays_free_for)
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_takes_no_file_is_told(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.respond(b"x"))
    assert (await code_of(fetcher, web.url(), tmp_path / "none" / "feed")).code == "STORE_FAILED"


async def test_a_download_that_is_cancelled_leaves_no_file_and_no_connection(
    fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    part = asyncio.Event()

    async def stalls(request: LoopbackRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"x" * 5_000_000)
        part.set()
        await request.left_alone()

    web = await serve(stalls)
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed"))
    await part.wait()
    while not list(tmp_path.glob(".feed.*.part")):
        await asyncio.sleep(0.01)
    download.cancel()
    with pytest.raises(asyncio.CancelledError):
        await download
    assert list(tmp_path.iterdir()) == []
    async with asyncio.timeout(60):
        while web.open_connections or set(os.listdir("/proc/self/fd")) - before:  # noqa: PTH208
            await asyncio.sleep(0.01)


async def test_a_write_under_way_is_waited_for(
    fetcher: Fetcher, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, go_on = threading.Event(), threading.Event()
    write = storing_module.Storing._write

    def held_up(self: storing_module.Storing, raw: bytes) -> None:
        writes.set()
        go_on.wait(120)
        write(self, raw)

    monkeypatch.setattr(storing_module.Storing, "_write", held_up)
    web = await serve(lambda request: request.respond(BODY))
    download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed"))
    while not writes.is_set():
        await asyncio.sleep(0.01)
    for _ in range(3):  # cancelled repeatedly, it must still end cleanly
        download.cancel()
        await asyncio.sleep(0.01)
        assert not download.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await download
    assert list(tmp_path.iterdir()) == []


class OneAtATime:
    """Permits that are given in rotation."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(1)
        self.wanted = 0

    @asynccontextmanager
    async def permit(self, host: str, *, owner: str = "") -> AsyncIterator[Permit]:
        self.wanted += 1
        async with self.free:
            yield NoPermit()


async def test_their_own_time_does_not_run_while_they_wait_for_a_permit(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, go_on = asyncio.Event(), asyncio.Event()

    async def waits(request: LoopbackRequest) -> None:
        came.set()
        await go_on.wait()
        await request.respond(b"x")

    web, permits = await serve(waits), OneAtATime()
    fetcher = Fetcher(guard=AddressGuard(allow_loopback=True), permits=permits)
    patient = FetchLimits(read_s=100_000, total_s=100_000)
    first = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "a", patient))
    await came.wait()
    second = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "b", FetchLimits(total_s=300)))
    while permits.wanted < 2:
        await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + 10_000)  # hours later
    await asyncio.sleep(0.01)
    go_on.set()
    assert isinstance(await first, Fetched)
    assert isinstance(await second, Fetched)
    await fetcher.close()


async def test_other_work_goes_on_while_a_large_file_comes(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    block = b"x" * (1 << 20)

    async def large(request: LoopbackRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (100 << 20), *[block] * 100)

    web = await serve(large)
    download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed"))
    yields = 0
    while not download.done():
        await asyncio.sleep(0)
        yields += 1
    assert isinstance(await download, Fetched)
    assert yields > 300

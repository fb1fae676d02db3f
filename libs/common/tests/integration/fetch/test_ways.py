"""Requests on their way to a file: redirects, secrets, statuses, TLS, proxies."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TypedDict

import pytest

from classifeed_common.fetch import AddressGuard, Fetched, FetchLimits, FetchRequest, KeepAlive
from classifeed_common.fetch.fetcher import Fetcher

from .certificates import Authority
from .conftest import Serve
from .loopback_web import Handler, LoopbackRequest, Web, code_of


class Secrets(TypedDict, total=False):
    """Arguments of a FetchRequest that other origins must not see."""

    headers: dict[str, str]
    basic_auth: tuple[str, str]


SECRETS: Secrets = {"headers": {"X-Api-Key": "key"}, "basic_auth": ("seller", "пароль")}


def to(location: str, status: int = 302) -> Handler:
    return lambda request: request.respond(status=status, Location=location)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(status: int, fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def handler(request: LoopbackRequest) -> None:
        if request.target == "/feed.xml":
            await request.respond(status=status, Location="новый путь/file.xml?a=1#part")
        else:
            await request.respond(b"found")

    web = await serve(handler)
    fetched = await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed")
    assert isinstance(fetched, Fetched)
    path = "/%D0%BD%D0%BE%D0%B2%D1%8B%D0%B9%20%D0%BF%D1%83%D1%82%D1%8C/file.xml?a=1"
    assert fetched.final_url == web.url(path)
    assert [request.target for request in web.requests] == ["/feed.xml", path]


async def test_circles_and_endless_ways_are_left(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    circle = await serve(lambda request: request.respond(status=302, Location="/b" if request.target == "/a" else "/a"))
    failed = await code_of(fetcher, circle.url("/a"), tmp_path / "feed")
    assert (failed.code, failed.http_status, circle.connections) == ("REDIRECT_LOOP", 302, 2)
    endless = await serve(lambda request: request.respond(status=302, Location=request.target + "x"))
    failed = await code_of(fetcher, endless.url("/"), tmp_path / "feed")
    assert (failed.code, endless.connections) == ("REDIRECT_LIMIT", 6)

    async def five(request: LoopbackRequest) -> None:
        if request.target == "/5":
            await request.respond(b"found")
        else:
            await request.respond(status=302, Location=f"/{int(request.target[1:]) + 1}")

    web = await serve(five)
    assert isinstance(await fetcher.fetch(FetchRequest(web.url("/0")), tmp_path / "feed"), Fetched)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("", "REDIRECT_INVALID"),
        ("http://[::1", "REDIRECT_INVALID"),
        ("ftp://127.0.0.1/feed.xml", "URL_SCHEME"),
        ("http://user:password@127.0.0.1/", "URL_HAS_CREDENTIALS"),
        ("http://10.0.0.1/", "ADDRESS_REFUSED"),
        ("http://169.254.169.254/latest/", "ADDRESS_REFUSED"),
    ],
)
async def test_a_redirect_to_nowhere_is_told(
    location: str, code: str, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(to(location))
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert (failed.code, failed.http_status) == (code, 302)
    assert web.url() in failed.message


async def test_a_redirect_without_an_address_is_told(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.respond(status=301))
    assert (await code_of(fetcher, web.url(), tmp_path / "feed")).code == "REDIRECT_INVALID"


async def test_secrets_stay_with_their_origin(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def first(request: LoopbackRequest) -> None:
        await request.respond(status=302, Location={"/feed.xml": "/same", "/same": other.url("/away")}[request.target])

    async def away(request: LoopbackRequest) -> None:
        await request.respond(status=302, Location=back.url("/back"))

    back: Web = await serve(lambda request: request.respond(b"found"))
    other: Web = await serve(away)
    web = await serve(first)
    await fetcher.fetch(FetchRequest(web.url(), **SECRETS, etag='"v1"'), tmp_path / "feed")
    for request in web.requests:
        assert request.headers["x-api-key"] == "key"
        assert request.headers["authorization"] == "Basic c2VsbGVyOtC/0LDRgNC+0LvRjA=="
    for request in (*other.requests, *back.requests):
        assert not {"x-api-key", "authorization"} & request.headers.keys()
        assert request.headers["if-none-match"] == '"v1"'
    assert len(web.requests) == 2


async def test_secrets_do_not_come_back_with_a_way_that_left(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    async def home(request: LoopbackRequest) -> None:
        await request.respond(
            status=302, Location=other.url()
        ) if request.target == "/feed.xml" else await request.respond(status=401)

    other: Web = await serve(lambda request: request.respond(status=302, Location=web.url("/chosen-by-another")))
    web: Web = await serve(home)
    failed = await code_of(fetcher, FetchRequest(web.url(), **SECRETS), tmp_path / "feed")
    assert "authorization" in web.requests[0].headers
    assert "authorization" not in web.requests[1].headers
    assert failed.code == "HTTP_UNAUTHORIZED"
    assert "no credentials are sent" in failed.message


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"X-Key": "a\r\nX-Evil: 1"}},
        {"headers": {"X-Key\r\nX-Evil": "1"}},
        {"headers": {"X-Key": "ключ"}},
        {"headers": {"X-Key": "\x00"}},
        {"headers": {"": "1"}},
        {"headers": {"Host": "other.example.com"}},
        {"headers": {"content-length": "5"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"headers": {"Proxy-Authorization": "x"}},
        {"headers": {"Range": "bytes=0-1"}},
        {"basic_auth": ("a:b", "c")},
        {"basic_auth": ("a", "b\r\nc")},
    ],
)
async def test_secrets_that_cannot_be_sent_are_refused_unsaid(
    settings: Secrets, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(b"x"))
    failed = await code_of(fetcher, FetchRequest(web.url(), **settings), tmp_path / "feed")
    assert failed.code == "REQUEST_INVALID"
    assert web.connections == 0
    assert "\n" not in failed.message


def test_a_request_does_not_show_its_secrets() -> None:
    assert "key" not in repr(FetchRequest("http://shop.example.com/", **SECRETS))
    assert "пароль" not in repr(FetchRequest("http://shop.example.com/", **SECRETS))


async def test_headers_of_the_seller_win_over_ours(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.respond(b"x"))
    request = FetchRequest(web.url(), headers={"user-agent": "Shop", "AUTHORIZATION": "Bearer 1"})
    await fetcher.fetch(request, tmp_path / "feed")
    assert web.requests[0].headers["user-agent"] == "Shop"
    assert web.requests[0].headers["authorization"] == "Bearer 1"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "HTTP_UNAUTHORIZED"),
        (403, "HTTP_FORBIDDEN"),
        (404, "HTTP_NOT_FOUND"),
        (410, "HTTP_GONE"),
        (418, "HTTP_CLIENT_ERROR"),
        (429, "HTTP_TOO_MANY_REQUESTS"),
        (500, "HTTP_SERVER_ERROR"),
        (503, "HTTP_UNAVAILABLE"),
        (599, "HTTP_SERVER_ERROR"),
        (204, "HTTP_UNEXPECTED"),
        (206, "HTTP_UNEXPECTED"),
        (300, "HTTP_UNEXPECTED"),
        (999, "HTTP_UNEXPECTED"),
    ],
)
async def test_each_status_has_its_words(
    status: int, code: str, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(status=status))
    failed = await code_of(fetcher, web.url("/feed.xml?key=secret"), tmp_path / "feed")
    assert (failed.code, failed.http_status, failed.retry_after_s) == (code, status, None)
    assert failed.message.startswith(f"{web.url()} responded with status {status}. ")
    assert "secret" not in failed.message


@pytest.mark.parametrize(
    ("status", "value", "wait_s"),
    [
        (429, "120", 120),
        (503, "0", 0),
        (500, "-3", 0),
        (502, "99999999999999999999999", 86400),
        (503, "soon", None),
        (503, "Thu, 05 Nov 2020 12:00:00 GMT", 0),
        (404, "120", None),
    ],
)
async def test_a_server_is_left_alone_as_long_as_it_asks(
    status: int, value: str, wait_s: int | None, fetcher: Fetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(status=status, Retry_After=value))
    assert (await code_of(fetcher, web.url(), tmp_path / "feed")).retry_after_s == wait_s


async def test_a_server_may_name_a_moment(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    web = await serve(lambda request: request.respond(status=503, Retry_After=moment))
    failed = await code_of(fetcher, web.url(), tmp_path / "feed")
    assert failed.retry_after_s is not None
    assert 3500 < failed.retry_after_s <= 3600


async def test_a_port_where_nobody_listens(fetcher: Fetcher, tmp_path: Path) -> None:
    with socket.socket() as taken:  # so that no other process can listen there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/feed.xml"
        assert (await code_of(fetcher, url, tmp_path / "feed")).code == "CONNECT_REFUSED"


async def test_another_address_of_the_host_is_tried(serve: Serve, tmp_path: Path) -> None:
    async def two(_: str) -> list[str]:
        return ["127.0.0.3", "127.0.0.2"]

    web = await serve(lambda request: request.respond(b"x"), host="127.0.0.2")
    fetcher = Fetcher(guard=AddressGuard(allow_loopback=True, resolver=two))
    url = web.url(host="shop.example.com")
    assert isinstance(await fetcher.fetch(FetchRequest(url), tmp_path / "feed"), Fetched)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def here(_: str) -> list[str]:
    return ["127.0.0.1"]


def secure(authority: Authority, proxy: str | None = None) -> Fetcher:
    trusting = ssl.create_default_context(cadata=authority.pem)
    return Fetcher(guard=AddressGuard(allow_loopback=True, resolver=here), ssl_context=trusting, proxy=proxy)


async def test_tls_is_for_the_name_and_not_for_the_address(authority: Authority, serve: Serve, tmp_path: Path) -> None:
    seen: list[str] = []
    context = authority.server("shop.example.com")
    context.sni_callback = lambda _socket, name, _context: seen.append(name)
    web = await serve(lambda request: request.respond(b"secret"), tls=context)
    url = web.url(host="shop.example.com", scheme="https")
    assert isinstance(await secure(authority).fetch(FetchRequest(url), tmp_path / "feed"), Fetched)
    assert seen == ["shop.example.com"]
    assert web.requests[0].headers["host"] == f"shop.example.com:{web.port}"


async def test_tls_faults_have_their_words(authority: Authority, serve: Serve, tmp_path: Path) -> None:
    cases = [
        (authority.server("other.example.com"), "TLS_WRONG_NAME"),
        (authority.server("shop.example.com", days=-1), "TLS_EXPIRED"),
        (Authority().server("shop.example.com"), "TLS_UNTRUSTED"),
        (authority.self_signed("shop.example.com"), "TLS_UNTRUSTED"),
    ]
    for context, code in cases:
        web = await serve(lambda request: request.respond(b"x"), tls=context)
        failed = await code_of(secure(authority), web.url(host="shop.example.com", scheme="https"), tmp_path / "feed")
        assert failed.code == code
        assert web.requests == []


@pytest.mark.parametrize("response", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
async def test_a_port_that_does_not_speak_tls(response: bytes, fetcher: Fetcher, tmp_path: Path) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(response)
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert (await code_of(fetcher, url, tmp_path / "feed")).code == "TLS_FAILED"


async def test_the_public_authorities_are_trusted_unless_told_otherwise(
    authority: Authority, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(b"x"), tls=authority.server("shop.example.com"))
    fetcher = Fetcher(guard=AddressGuard(allow_loopback=True, resolver=here))
    failed = await code_of(fetcher, web.url(host="shop.example.com", scheme="https"), tmp_path / "feed")
    assert failed.code == "TLS_UNTRUSTED"


async def test_secrets_are_not_led_out_of_tls(authority: Authority, serve: Serve, tmp_path: Path) -> None:
    plain = await serve(lambda request: request.respond(b"x"))
    web = await serve(to(plain.url()), tls=authority.server("shop.example.com"))
    url = web.url(host="shop.example.com", scheme="https")
    failed = await code_of(secure(authority), FetchRequest(url, **SECRETS), tmp_path / "feed")
    assert (failed.code, plain.connections) == ("REDIRECT_DOWNGRADE", 0)
    assert isinstance(await secure(authority).fetch(FetchRequest(url), tmp_path / "feed"), Fetched)


class Tunnels:
    """A proxy that connects every request to one server."""

    def __init__(self, port: int, response: bytes = b"HTTP/1.1 200 Fine\r\n\r\n") -> None:
        self.port, self.respond = port, response
        self.heads: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.respond)
        if b" 200 " in self.respond:
            there, away = await asyncio.open_connection("127.0.0.1", self.port)
            await asyncio.gather(self.copy(reader, away), self.copy(there, writer))
        writer.close()

    async def copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()


async def outside(name: str) -> list[str]:
    return ["2606:4700::1111"] if name.startswith("six") else ["93.184.216.34"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_is_asked_for_the_checked_address(
    scheme: str, authority: Authority, serve: Serve, tmp_path: Path
) -> None:
    tls = authority.server("shop.example.com") if scheme == "https" else None
    web = await serve(lambda request: request.respond(b"found"), tls=tls)
    tunnels = Tunnels(web.port)
    async with await asyncio.start_server(tunnels, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(
            guard=AddressGuard(resolver=outside),
            proxy=f"http://us:word@127.0.0.1:{port}",
            ssl_context=ssl.create_default_context(cadata=authority.pem),
        )
        fetched = await fetcher.fetch(FetchRequest(f"{scheme}://shop.example.com/feed.xml"), tmp_path / "feed")
        assert isinstance(fetched, Fetched)
        target = f"93.184.216.34:{443 if tls else 80}"
        assert tunnels.heads[0].startswith(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n")
        assert "Proxy-Authorization: Basic dXM6d29yZA==" in tunnels.heads[0]
        assert web.requests[0].headers["host"] == "shop.example.com"
        assert "proxy-authorization" not in web.requests[0].headers
        assert (await code_of(fetcher, "http://127.0.0.1/", tmp_path / "feed")).code == "ADDRESS_REFUSED"
        assert len(tunnels.heads) == 1
        if not tls:
            await fetcher.fetch(FetchRequest("http://six.example.com:8080/"), tmp_path / "feed")
            assert tunnels.heads[1].startswith("CONNECT [2606:4700::1111]:8080 HTTP/1.1\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_way_through_the_proxy_is_kept_for_the_address_it_leads_to(
    scheme: str, authority: Authority, serve: Serve, tmp_path: Path
) -> None:
    tls = authority.server("shop.example.com") if scheme == "https" else None
    web = await serve(lambda request: request.respond(b"found"), tls=tls, keeps=True)
    addresses = ["93.184.216.34", "93.184.216.34", "1.1.1.1", "10.0.0.1"]

    async def resolve(_: str) -> list[str]:
        return [addresses.pop(0)]

    tunnels = Tunnels(web.port)
    async with await asyncio.start_server(tunnels, "127.0.0.1", 0) as server:
        fetcher = Fetcher(
            guard=AddressGuard(resolver=resolve),
            proxy=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
            keep=KeepAlive(idle_s=3600),
            ssl_context=ssl.create_default_context(cadata=authority.pem),
        )
        url = f"{scheme}://shop.example.com/feed.xml"
        for connects in (1, 1, 2):
            await fetcher.fetch(FetchRequest(url), tmp_path / "feed")
            assert len(tunnels.heads) == connects
        assert (await code_of(fetcher, url, tmp_path / "feed")).code == "ADDRESS_REFUSED"
        assert (len(tunnels.heads), len(web.requests)) == (2, 3)
        await fetcher.close()


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n", "PROXY_FAILED"),
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "PROXY_FAILED"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "CONNECT_FAILED"),
        (b"nonsense\r\n\r\n", "PROXY_FAILED"),
        (b"", "PROXY_FAILED"),
    ],
)
async def test_a_proxy_that_does_not_serve_is_our_fault(response: bytes, code: str, tmp_path: Path) -> None:
    async with await asyncio.start_server(Tunnels(0, response), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(guard=AddressGuard(resolver=outside), proxy=f"http://127.0.0.1:{port}")
        assert (await code_of(fetcher, "http://shop.example.com/", tmp_path / "feed")).code == code


def test_a_proxy_is_named_properly_and_its_password_not_told() -> None:
    for proxy in ("proxy:3128", "socks5://proxy:1080", "http://proxy", "http://us:word@proxy"):
        with pytest.raises(ValueError, match="proxy must be given as") as refused:
            Fetcher(guard=AddressGuard(), proxy=proxy)
        assert "us:word" not in str(refused.value)


async def test_the_environment_is_not_asked(
    fetcher: Fetcher, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = await serve(lambda request: request.respond(b"x", Set_Cookie="session=1; Path=/"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for _ in range(2):
        await fetcher.fetch(FetchRequest(web.url()), tmp_path / "feed", FetchLimits())
    assert not any({"cookie", "authorization"} & request.headers.keys() for request in web.requests)

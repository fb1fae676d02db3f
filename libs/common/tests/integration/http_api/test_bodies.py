"""Bodies that an HTTP API refuses: too large, no JSON, too deep, while it starts or stops."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from classifeed_common.auth import KeyStore
from classifeed_common.errors import InvalidArgument
from classifeed_common.http.api.bodies import Body, check_json

from .conftest import AUDIENCE, CALLER, HEADER, MAX_BYTES, MAX_DEPTH, Serve, Served, assert_problem, refusals


@pytest.fixture
def token(keys: KeyStore) -> str:
    return keys.issue(CALLER, AUDIENCE)


async def send_raw(served: Served, *parts: bytes, token: str, more: str) -> bytes:
    """Send a head and parts of a body, and return the response up to the close of the connection."""
    url = httpx.URL(str(served.http.base_url))
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{HEADER.name}: {token}\r\n"
    writer.write(f"{head}{more}\r\n\r\n".encode())
    for part in parts:
        writer.write(part)
    async with asyncio.timeout(60):
        received = await reader.read()
    writer.close()
    return received


async def test_a_body_of_announced_length_is_refused_before_it_comes(serve: Serve, token: str) -> None:
    async with serve() as served:
        before = refusals("BODY_TOO_LARGE")
        received = await send_raw(served, token=token, more=f"Content-Length: {1 << 30}")
        assert received.startswith(b"HTTP/1.1 413 ")
        assert b"BODY_TOO_LARGE" in received
        assert refusals("BODY_TOO_LARGE") == before + 1
        assert served.notes.stored == []


async def test_a_body_in_chunks_is_refused_at_the_limit(serve: Serve, token: str) -> None:
    chunk = b"190\r\n" + b" " * 0x190 + b"\r\n"
    async with serve() as served:
        received = await send_raw(served, *[chunk] * 3, token=token, more="Transfer-Encoding: chunked")  # and no end
        assert received.startswith(b"HTTP/1.1 413 ")
        assert served.notes.stored == []


async def test_10_mb_are_413_and_the_limit_itself_passes(serve: Serve, token: str) -> None:
    async with serve() as served:
        assert_problem(await served.put(token, content=b" " * (10 << 20)), 413, "BODY_TOO_LARGE")
        body = json.dumps({"text": ""}).encode()
        assert (await served.put(token, content=body.ljust(MAX_BYTES))).status_code == 200
        assert_problem(await served.put(token, content=body.ljust(MAX_BYTES + 1)), 413, "BODY_TOO_LARGE")


async def test_what_a_refused_caller_goes_on_to_send_is_not_read(serve: Serve) -> None:
    async with serve() as served:
        for more in (f"Content-Length: {1 << 30}", "Transfer-Encoding: chunked"):
            received = await send_raw(served, token="nonsense", more=more)  # ends, so the connection was closed
            assert received.startswith(b"HTTP/1.1 401 ")
            assert b"connection: close" in received.lower()


async def test_a_body_that_was_not_read_leaves_the_connection_open_unless_it_is_huge(serve: Serve) -> None:
    async with serve() as served:
        for size in (100, 10 << 20):
            assert "connection" not in (await served.put("nonsense", content=b" " * size)).headers


async def test_no_more_than_the_limit_is_read() -> None:
    taken = 0

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    body = Body(Request({"type": "http", "headers": []}, receive), 250)
    with pytest.raises(InvalidArgument, match="250 bytes"):
        await body.read()
    assert taken == 3
    assert body.leaves_rest


def nested(levels: int) -> bytes:
    return b'{"text": "x", "more": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"text": "x"', 400),
        (b'{"text": "x"}}', 400),
        (b"\xff\xfe", 400),
        (b'{"text": NaN}', 400),
        (b'{"text": 5}', 400),
        (nested(MAX_DEPTH), 200),
        (nested(MAX_DEPTH + 1), 400),
        (b"[" * MAX_BYTES, 400),
        (json.dumps({"text": "[" * 50 + '{"\\' * 50 + "]}" * 90}).encode(), 200),
        (json.dumps({"text": "x", "more": [[]] * 200}).encode(), 200),
    ],
)
async def test_what_is_no_json_or_too_deep_is_400(serve: Serve, token: str, body: bytes, status: int) -> None:
    async with serve() as served:
        before = refusals("REQUEST_INVALID")
        response = await served.put(token, content=body)
        if status == 200:
            assert response.status_code == 200, response.text
        else:
            assert_problem(response, 400, "REQUEST_INVALID")
        assert refusals("REQUEST_INVALID") == before + (status == 400)


VALUES = st.recursive(
    st.none() | st.text(alphabet='[]{}"\\aж') | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[]{}"\\a'), inner, max_size=3),
    max_leaves=20,
)


def depth(value: Any) -> int:
    if isinstance(value, list | dict):
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)
    return 0


@given(VALUES, st.integers(1, 6), st.booleans())
def test_depth_is_that_of_the_parsed_value(value: Any, most: int, in_ascii: bool) -> None:
    body = json.dumps(value, ensure_ascii=in_ascii).encode()
    try:
        check_json(body, most_deep=most, most_values=None)
        passes = True
    except InvalidArgument:
        passes = False
    assert passes == (depth(value) <= most)


@given(VALUES, st.booleans())
def test_values_are_counted_where_there_are_too_many(value: Any, in_ascii: bool) -> None:
    body = json.dumps(value, ensure_ascii=in_ascii).encode()
    check_json(body, most_deep=64, most_values=max(count(value), 1))
    with pytest.raises(InvalidArgument, match="more than 3 values"):
        check_json(b"[" + body + b",1,2,3]", most_deep=64, most_values=3)


def count(value: Any) -> int:
    """Return the number of values in a value, including itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


@pytest.mark.parametrize(
    "body",
    [b'"\\' * (1 << 19), b'\\"' * (1 << 19), b'"' + b"\\" * (1 << 20), b"[]" * (1 << 19), b"[" * (1 << 20)],
    ids=["quote, backslash", "backslash, quote", "backslashes", "pairs", "open"],
)
@pytest.mark.timeout(60)
def test_depth_takes_no_more_time_for_a_hostile_body(body: bytes) -> None:
    check_json(body, most_deep=64, most_values=None)


async def test_while_it_starts_and_while_it_stops_an_api_takes_nothing(serve: Serve, token: str) -> None:
    may_start, may_stop = asyncio.Event(), asyncio.Event()

    async def work(stop: asyncio.Event) -> None:
        await stop.wait()
        await may_stop.wait()

    async def until(reason: str | None) -> httpx.Response:
        async with asyncio.timeout(60):
            while True:
                response: httpx.Response = await served.put(token)
                if (None if response.status_code == 200 else response.json()["reason"]) == reason:
                    return response
                await asyncio.sleep(0.01)

    async with serve(on_start=may_start.wait, role=work) as served:
        starting = await served.put(token)
        assert_problem(starting, 503, "STARTING")
        may_start.set()
        await until(None)
        stored = len(served.notes.stored)
        served.stop.set()
        draining = await until("DRAINING")
        assert_problem(draining, 503, "DRAINING")
        assert starting.headers["retry-after"] == draining.headers["retry-after"] == "1"
        assert len(served.notes.stored) >= stored
        assert min(refusals("STARTING"), refusals("DRAINING")) >= 1
        may_stop.set()


async def test_what_web_pages_send_is_counted_too(serve: Serve, token: str) -> None:
    async with serve() as served:
        before = refusals("ORIGIN_NOT_ALLOWED", api="pages")
        assert (await served.put(token, headers={"origin": "https://evil.example"})).status_code == 403
        assert refusals("ORIGIN_NOT_ALLOWED", api="pages") == before + 1

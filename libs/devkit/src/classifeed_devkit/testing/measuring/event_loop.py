"""Measure how long requests block the event loop of a service in the test's process.

The measure is the CPU time of the loop's thread between two turns of a task that is always ready. Clients run in other
threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import grpc
import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from classifeed_common.auth.policy import Policy
from classifeed_common.contracts import list_methods
from classifeed_devkit.testing.http import NO_AUTHORITIES
from classifeed_devkit.testing.measuring.large_requests import Text, largest_requests

T = TypeVar("T")
_SEGMENT: Final = "%zz" * 500
_FORM: Final = "application/x-www-form-urlencoded"
LONGEST_S: Final = 0.2
"""Longest delay allowed for `/health/live`, in seconds."""


@contextlib.asynccontextmanager
async def longest_hold() -> AsyncIterator[list[float]]:
    """Provide a list with, at the end, the longest CPU time in seconds of other tasks between two turns."""
    longest = [0.0]
    ends = asyncio.Event()

    async def beat() -> None:
        before = time.thread_time()
        while not ends.is_set():
            await asyncio.sleep(0.001)
            now = time.thread_time()
            longest[0] = max(longest[0], now - before)
            before = now

    # A collection of all objects of the test process takes longer than the measured requests.
    gc.disable()
    beating = asyncio.create_task(beat())
    try:
        yield longest
    finally:
        ends.set()
        await beating
        gc.enable()


def call(address: str, method: str, requests: Sequence[bytes], token: str = "", *, streams: bool = False) -> str:
    """Send a call from this thread, wait for its first response, and return the name of its code.

    Args:
        address: address of the service.
        method: full method.
        requests: serialized requests.
        token: service token; empty: none.
        streams: whether the method accepts a stream.
    """
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(address, options=options) as channel:
        # unary_stream also reads a single response.
        made: Any = channel.stream_stream(method) if streams else channel.unary_stream(method)  # types: serializers
        responses = made(iter(requests) if streams else requests[0], timeout=30, metadata=metadata)
        try:
            next(responses, None)
        except grpc.RpcError as error:
            return str(error.code().name)
        responses.cancel()
    return "OK"


async def _least_hold(send: Callable[[], T]) -> tuple[float, T]:
    """Return how long a request blocked the loop, in seconds, and the result of `send`, which runs in a thread.

    Other processes slow a core down, so a request that blocked the loop for too long is repeated at most twice.
    """
    least_s = float("inf")
    for _ in range(3):
        async with longest_hold() as longest:
            result = await asyncio.to_thread(send)
        least_s = min(least_s, longest[0])
        if least_s <= LONGEST_S:
            break
    return least_s, result


async def hold_of_call(
    address: str, method: str, requests: Sequence[bytes], token: str = "", *, streams: bool = False
) -> tuple[float, str]:
    """Return how long a call blocked the loop, in seconds, and its code. Arguments as for `call`."""
    return await _least_hold(lambda: call(address, method, requests, token, streams=streams))


async def hold_of_request(address: str, request: Mapping[str, Any]) -> tuple[float, int]:
    """Return how long a request over HTTP blocked the loop, in seconds, and its status.

    Args:
        address: address of the service.
        request: arguments of `httpx.Client.request`.
    """

    def send() -> int:
        with httpx.Client(base_url=f"http://{address}", trust_env=False, verify=NO_AUTHORITIES, timeout=120) as client:
            return client.request(**request).status_code

    return await _least_hold(send)


async def holds_of_rpcs(
    address: str,
    services: Sequence[str],
    policy: Policy,
    *,
    texts: Mapping[str, Text],
    values: Mapping[str, Any],
    token: Callable[[], str] = str,
) -> dict[str, tuple[float, str]]:
    """Call every method of gRPC services with its largest requests, except for client streams.

    Args:
        address: address of the service.
        services: full names of the services.
        policy: policy with the request limits.
        texts: kinds of texts; each is a function that returns a text of a given length.
        values: values of fields by name, where the service accepts only certain ones.
        token: function that returns a service token.

    Returns:
        By method and kind: how long it blocked the loop, in seconds, and the code.
    """
    found: dict[str, tuple[float, str]] = {}
    for path, method in list_methods():
        if method.containing_service.full_name not in services or method.client_streaming:
            continue
        seen: set[bytes] = {b""}
        found[path] = await hold_of_call(address, path, [b""], token())
        for kind, text in texts.items():
            for name, request in largest_requests(
                method.input_type, policy.limit_bytes(path), text=text, values=values
            ):
                if (sent := request.SerializeToString()) not in seen:
                    seen.add(sent)
                    found[f"{path} ({kind}, {name})"] = await hold_of_call(address, path, [sent], token())
    return found


async def holds_of_routes(
    address: str, app: Starlette, *, size_bytes: int, headers: Mapping[str, str] | None = None
) -> dict[str, tuple[float, int]]:
    """Send each route of a service long parameters, and large bodies with many parts.

    Args:
        address: address of the service.
        app: application of the service, for its list of routes.
        size_bytes: size of a body.
        headers: headers of each request.

    Returns:
        By method, path and kind: how long it blocked the loop, in seconds, and the status.
    """
    found: dict[str, tuple[float, int]] = {}
    for route in app.routes:
        assert isinstance(route, Route), route
        bodies = [
            ("JSON", "application/json", b"[" + b"{}," * (size_bytes // 3 - 64) + b"{}]"),
            ("form", _FORM, b"a=1&" * (size_bytes // 4)),
        ]
        url = re.sub(r"{[^}]+}", _SEGMENT, route.path)
        for method in sorted((route.methods or set()) - {"HEAD"}):
            request: dict[str, Any] = {"method": method, "url": url, "params": {"url": _SEGMENT}}
            for kind, content_type, body in bodies if method in {"POST", "PUT", "PATCH"} else [("no body", "", b"")]:
                sent = {**(headers or {}), **({"Content-Type": content_type} if body else {})}
                found[f"{method} {route.path} ({kind})"] = await hold_of_request(
                    address, request | {"content": body, "headers": sent}
                )
    return found


def large_bodies(size_bytes: int, *fields: str) -> Iterator[tuple[str, bytes]]:
    """Yield bodies of a size that are expensive to parse as JSON, alone and as the value of each field of an object."""
    count = size_bytes // 2 - 64
    values = {
        "numbers": b"[" + b"0," * count + b"0]",
        "objects": b"[" + b"{}," * (size_bytes // 3 - 64) + b"{}]",
        "open lists": b"[" * (size_bytes - 128),
        "lists in lists": b"[" * count + b"]" * count,
        "escapes": b'"' + b"\\u0000" * (size_bytes // 6 - 64) + b'"',
        "digits": b"9" * (size_bytes - 128),
        "names": b"{" + b",".join(b'"%x":0' % number for number in range(size_bytes // 10 - 64)) + b"}",
    }
    for kind, value in values.items():
        yield kind, value
        for field in fields:
            yield f"{field}: {kind}", b'{"%s":%s}' % (field.encode(), value)


def too_long(found: Mapping[str, tuple[float, object]]) -> dict[str, tuple[float, object]]:
    """Return the measurements above LONGEST_S."""
    return {name: took for name, took in found.items() if took[0] > LONGEST_S}

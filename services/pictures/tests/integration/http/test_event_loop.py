"""No request holds the event loop: the largest that each route accepts, and the largest that it refuses.

What counts is the CPU time of the loop's thread between two turns of a task that is always ready. Clients have threads
of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from PIL import Image

from classifeed_pictures.domain.urls.canonical import URL_LIMIT_CHARS
from classifeed_pictures.domain.urls.sizes import URLS_LIMIT_BYTES

from ..conftest import Service

LONGEST_S = 0.2
URLS = 1000
# Each is the slowest of its kind: escapes, characters to encode, parameters, labels of a host.
KINDS: dict[str, Callable[[int], str]] = {
    "escapes": lambda chars: f"http://a.example/{'%zz' * chars}"[:chars],
    "percent signs": lambda chars: f"http://a.example/{'%' * chars}"[:chars],
    "parameters": lambda chars: f"http://a.example/?{'&' * chars}"[:chars],
    "labels": lambda chars: f"http://{'☃.' * min(chars // 2 - 10, 120)}example/".ljust(chars, "a")[:chars],
    "key": lambda chars: "k" * chars,
}


@contextlib.asynccontextmanager
async def longest_hold() -> AsyncIterator[list[float]]:
    """Give a list that holds, at the end, the longest CPU time in seconds that others took between two turns."""
    longest = [0.0]
    ends = asyncio.Event()

    async def beat() -> None:
        before = time.thread_time()
        while not ends.is_set():
            await asyncio.sleep(0.001)
            now = time.thread_time()
            longest[0] = max(longest[0], now - before)
            before = now

    # A pass over all objects of the tests' own process takes longer than what is measured.
    gc.collect()
    gc.disable()
    beating = asyncio.create_task(beat())
    try:
        yield longest
    finally:
        ends.set()
        await beating
        gc.enable()


def noise() -> bytes:
    """Return a picture of nearly the size that is taken."""
    buffer = io.BytesIO()
    Image.frombytes("RGB", (2600, 2600), os.urandom(2600 * 2600 * 3)).save(buffer, "PNG", compress_level=0)
    return buffer.getvalue()


@pytest.mark.timeout(600)
async def test_no_route_holds_the_event_loop(http: httpx.AsyncClient, service: Service) -> None:
    picture = noise()
    json_type = {"Content-Type": "application/json"}
    requests: dict[str, dict[str, Any]] = {
        "put": {
            "method": "POST", "url": "/market/put_picture?url=u", "content": picture,
            "headers": {"Content-Type": "image/png"},
        },
        "form": {"method": "POST", "url": "/shops/1/pictures", "files": {"f": ("a.png", picture, "image/png")}},
        "too large": {"method": "POST", "url": "/state", "content": b" " * (6 << 20), "headers": json_type},
        "metrics": {"method": "GET", "url": "/metrics"},
        "health": {"method": "GET", "url": "/health/ready"},
        "backlog": {"method": "GET", "url": "/backlog"},
    }  # fmt: skip
    for kind, url in KINDS.items():
        requests[f"one, {kind}"] = {"method": "GET", "url": "/state", "params": {"url": url(URL_LIMIT_CHARS)}}
        for chars in (URLS_LIMIT_BYTES // URLS - 8, URL_LIMIT_CHARS):
            urls = [f"{url(chars)[:-4]}{number:04}" for number in range(URLS)]
            content = json.dumps(urls, ensure_ascii=False).encode()
            requests[f"states, {kind}, {chars}"] = {
                "method": "POST", "url": "/state", "content": content, "headers": json_type,
            }  # fmt: skip
    found: dict[str, tuple[float, int]] = {}

    def send(request: dict[str, Any]) -> int:
        with httpx.Client(base_url=f"http://{service.http_address}", trust_env=False, timeout=120) as client:
            return client.request(**request).status_code

    for name, request in requests.items():
        async with longest_hold() as longest:
            status = await asyncio.to_thread(send, request)
        found[name] = longest[0], status
    assert {name: status for name, (_, status) in found.items() if status not in {200, 404, 413}} == {}
    assert {name: took for name, took in found.items() if took[0] > LONGEST_S} == {}
    info = (await http.get("/state", params={"url": "u"})).json()["pictures"][0]
    path = f"/get/{info['namespace']}/{info['group_id']}/{info['name']}"
    for size in ("orig", "large"):
        async with longest_hold() as longest:
            assert await asyncio.to_thread(send, {"method": "GET", "url": f"{path}/{size}"}) == 200
        assert longest[0] < LONGEST_S

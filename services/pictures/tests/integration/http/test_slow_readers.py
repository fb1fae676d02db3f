"""Clients that request large pictures and read nothing: memory does not grow, and other clients are served."""

from __future__ import annotations

import io
import os
import socket
from contextlib import ExitStack

import httpx
from PIL import Image

from classifeed_devkit.testing.measuring.memory import resident_bytes

from ..conftest import Service

GROWTH_BYTES = 64 << 20
SIDE = 2400


def large_png() -> bytes:
    """Return an incompressible picture of 17 MB."""
    buffer = io.BytesIO()
    Image.frombytes("RGB", (SIDE, SIDE), os.urandom(SIDE * SIDE * 3)).save(buffer, "PNG", compress_level=0)
    return buffer.getvalue()


async def test_200_readers_of_an_original_that_read_nothing(http: httpx.AsyncClient, service: Service) -> None:
    content = large_png()
    put = await http.post(
        "/market/put_picture", params={"url": "large"}, content=content, headers={"Content-Type": "image/png"}
    )
    info = put.json()
    path = f"/get/{info['namespace']}/{info['group_id']}/{info['name']}/orig"

    async def read() -> int:
        async with http.stream("GET", path) as response:
            assert response.status_code == 200
            assert int(response.headers["content-length"]) > 16 << 20
            return sum([len(part) async for part in response.aiter_raw()])

    size = await read()
    before = resident_bytes()
    host, _, port = service.http_address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(200):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        for _ in range(3):
            assert await read() == size
            assert (await http.get("/health/live")).status_code == 200
        assert resident_bytes() - before < GROWTH_BYTES
    assert await read() == size
    assert not list(service.settings.spool_dir.glob("run-*/*")), "an original has no name while it is sent"

"""Files of running downloads are in run folders; the next start removes those of a killed process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from classifeed_devkit.testing.recovery import until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg


@pytest.fixture
def options() -> dict[str, Any]:
    return {"obey_robots": True}


async def test_files_of_downloads_lie_in_run_folders(service: Service, host: PictureHost, tmp_path: Path) -> None:
    released = {"/robots.txt": asyncio.Event(), "/1.jpg": asyncio.Event()}

    def halt(path: str, body: bytes) -> None:
        async def respond(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:9])
            await writer.drain()
            await released[path].wait()
            writer.write(body[9:])
            await writer.drain()

        host.responses[path] = respond

    halt("/robots.txt", b"User-agent: *\nAllow: /\n")
    halt("/1.jpg", jpeg())
    await service.request([host.url("/1.jpg")])

    async def see(path: str, file: str) -> None:
        await until(lambda: host.count(path) == 1 and any(tmp_path.glob(f"run-*/.{file}.*")))
        released[path].set()

    await see("/robots.txt", "robots.txt")
    await see("/1.jpg", "picture")
    [result] = await service.results(1)
    assert result.HasField("info")
    await until(lambda: not any(tmp_path.iterdir()))

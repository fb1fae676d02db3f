"""A client that uploads pictures to processes that are killed, and reads them again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until

from ..fleet import Fleet
from ..picture_host import jpeg

_BETWEEN_S: Final = 1.0
_LIMIT_S: Final = 5.0


@dataclass
class Uploader:
    """A client that retries each call until one of the serving processes responds.

    Attributes:
        fleet: fleet with the serving processes.
        client: HTTP client.
        rng: generator that chooses a process.
        written: response for each uploaded picture, by key.
        refused: number of calls without a response or with a server error.
    """

    fleet: Fleet
    client: httpx.AsyncClient
    rng: random.Random
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: int = 0

    async def put(self) -> None:
        """Upload another picture, and read its state and bytes."""
        key = f"http://put.example/{len(self.written)}.jpg"
        content = jpeg(5000 + len(self.written), width=64, height=48)
        response = await self._call("POST", "/market/put_picture", params={"url": key}, content=content)
        self.written[key] = response.json()
        await self.check(key)

    async def check(self, key: str) -> None:
        """Check that an uploaded picture can be read."""
        info = self.written[key]
        state = (await self._call("GET", "/state", params={"url": key})).json()
        assert (state["put"], info["name"] in {each["name"] for each in state["pictures"]}) == (True, True), state
        await self._call("GET", f"/get/{info['namespace']}/{info['group_id']}/{info['name']}/orig")

    async def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        found: list[httpx.Response] = []

        async def has_response() -> bool:
            addresses = self.fleet.http_addresses()
            if not addresses:
                return False
            try:
                response = await self.client.request(
                    method,
                    f"http://{self.rng.choice(addresses)}{path}",
                    headers={"Content-Type": "image/jpeg"},
                    **arguments,
                )
            except httpx.TransportError:
                self.refused += 1
                return False
            if response.status_code >= 500 or response.status_code in (409, 429):
                self.refused += 1
                return False
            found.append(response)
            return True

        await until(has_response)
        assert found[0].status_code == 200, found[0].text
        return found[0]


@asynccontextmanager
async def uploading(fleet: Fleet, rng: random.Random) -> AsyncIterator[Uploader]:
    """Upload pictures continuously; at the end check that each exists."""
    may_end = asyncio.Event()
    async with loopback_client(timeout_s=_LIMIT_S) as client:
        uploader = Uploader(fleet, client, rng)

        async def upload() -> None:
            while not may_end.is_set():
                await uploader.put()
                await asyncio.sleep(_BETWEEN_S)

        async with asyncio.TaskGroup() as group:
            group.create_task(upload())
            try:
                yield uploader
            finally:
                may_end.set()
        for key in uploader.written:
            await uploader.check(key)

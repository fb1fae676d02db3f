"""Whoever puts pictures at processes that die, and reads them again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from classifeed_common.testing.http import loopback_client
from classifeed_common.testing.recovery import until

from ..fleet import Fleet
from ..picture_host import jpeg

_BETWEEN_S: Final = 1.0
_LIMIT_S: Final = 5.0


@dataclass
class Uploader:
    """A client that tries each of its calls until one of those that serve responds.

    Attributes:
        fleet: whose processes serve.
        client: of their HTTP.
        rng: chooses one.
        written: the response for each picture that was put, by its key.
        refused: calls without a response, or with an error of the server's.
    """

    fleet: Fleet
    client: httpx.AsyncClient
    rng: random.Random
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: int = 0

    async def put(self) -> None:
        """Put one more picture, and read its state and itself."""
        key = f"http://put.example/{len(self.written)}.jpg"
        content = jpeg(5000 + len(self.written), width=64, height=48)
        response = await self._call("POST", "/market/put_picture", params={"url": key}, content=content)
        self.written[key] = response.json()
        await self.check(key)

    async def check(self, key: str) -> None:
        """Check that a picture that was put can be had."""
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
    """Put pictures all the time; at the end each of them is there."""
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

"""The memory budget of request bodies."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from classifeed_common.errors import Unavailable
from classifeed_common.http.receiving import FREE_BYTES, BodiesWithinBudget

BUDGET = 10 * FREE_BYTES


async def test_bodies_of_all_requests_have_a_budget() -> None:
    ends = asyncio.Event()
    read: list[int] = []

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        size = 0
        while (message := await receive())["more_body"]:
            size += len(message["body"])
        read.append(size)
        await ends.wait()

    middleware = BodiesWithinBudget(handle, BUDGET)

    async def request(pieces: int) -> None:
        left = pieces

        async def receive() -> Message:
            nonlocal left
            left -= 1
            return {"type": "http.request", "body": b"x" * FREE_BYTES if left >= 0 else b"", "more_body": left >= 0}

        async def send(_: Message) -> None:
            return

        await middleware({"type": "http"}, receive, send)

    held = asyncio.create_task(request(9))
    while not read:
        await asyncio.sleep(0)
    small = asyncio.create_task(request(1))
    refused = asyncio.create_task(request(5))
    while len(read) + refused.done() < 3:
        await asyncio.sleep(0)
    ends.set()
    with pytest.raises(Unavailable, match="other requests"):
        await refused
    await asyncio.gather(held, small)
    await request(100)  # a lone body fits
    assert read == [9 * FREE_BYTES, FREE_BYTES, 100 * FREE_BYTES]

"""A stream's reader that reads nothing is disconnected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from classifeed_common.rpc.idle_readers import disconnect_idle


async def numbers(closed: list[bool]) -> AsyncIterator[int]:
    try:
        for number in range(3):
            yield number
    finally:
        closed.append(True)


async def test_a_reader_that_takes_everything_gets_everything() -> None:
    assert [number async for number in disconnect_idle(numbers([]), silence_s=60)] == [0, 1, 2]


async def test_the_call_of_a_reader_that_takes_nothing_is_cancelled() -> None:
    closed: list[bool] = []

    async def call() -> None:
        source = numbers(closed)
        async for _ in disconnect_idle(source, silence_s=0.01):
            try:
                await asyncio.Event().wait()  # as grpc does while flow control holds the message
            finally:
                await source.aclose()  # type: ignore[attr-defined]

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.create_task(call()), 30)
    assert closed == [True]

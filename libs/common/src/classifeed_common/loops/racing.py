"""race: work that ends early when an event is set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def race(stop: asyncio.Event, work: Awaitable[T], /) -> list[asyncio.Task[T]]: ...


@overload
async def race(stop: asyncio.Event, *works: Awaitable[Any]) -> list[asyncio.Task[Any]]: ...


async def race(stop: asyncio.Event, *works: Awaitable[Any]) -> list[asyncio.Task[Any]]:
    """Run works until one is done or `stop` is set, and return their tasks. The others are cancelled and have ended.

    Use `cancelled()` of a task before `result()`: a work that lost has no result.

    Args:
        stop: event that ends the race.
        works: works that run in parallel.
    """
    stopping = asyncio.create_task(stop.wait())
    tasks = [asyncio.create_task(_await(work)) for work in works]
    try:
        await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (stopping, *tasks):
            task.cancel()
        await asyncio.wait([stopping, *tasks])
    return tasks


async def _await(work: Awaitable[T]) -> T:
    return await work

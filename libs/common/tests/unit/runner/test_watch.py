"""Readiness shows the result of the last check of the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg

from classifeed_common.clock import FakeClock
from classifeed_common.runner import Watch


async def test_what_is_blocked_is_shown_until_it_is_not_and_passing_faults_change_nothing() -> None:
    stop = asyncio.Event()
    seen: list[Mapping[str, str]] = []
    responses: list[dict[str, str] | Exception] = [{"a": "why"}, psycopg.OperationalError("away"), {}]

    async def look() -> Mapping[str, str]:
        seen.append(watch.blocked())
        if not responses:
            stop.set()
            return {}
        response = responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    watch = Watch(look, what="texts that wait", period_s=0.001)
    async with asyncio.timeout(30):
        await watch.run(stop)
    assert seen == [{}, {"a": "why"}, {"a": "why"}, {}]


async def test_a_look_that_fails_for_long_is_named_beside_what_was_found_before() -> None:
    stop = asyncio.Event()
    clock = FakeClock()
    looks = 0

    async def look() -> Mapping[str, str]:
        nonlocal looks
        looks += 1
        if looks == 1:
            return {"a": "why"}
        await clock.advance(30)
        if looks == 3:
            stop.set()
        raise LookupError("no such table")

    watch = Watch(look, what="texts that wait", period_s=0.001, clock=clock)
    async with asyncio.timeout(30):
        await watch.run(stop)
    assert watch.blocked() == {
        "a": "why",
        "texts that wait": "reading texts that wait has failed for 30 s, 2 times: LookupError: no such table. The "
        "list shown is from the last successful read; it continues once the cause is fixed.",
    }

"""What readiness shows of the tables is what the last look found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg
import pytest

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

    watch = Watch(look, period_s=0.001)
    async with asyncio.timeout(30):
        await watch.run(stop)
    assert seen == [{}, {"a": "why"}, {"a": "why"}, {}]


async def test_a_lasting_fault_ends_it_so_that_nobody_believes_in_it() -> None:
    async def look() -> Mapping[str, str]:
        raise LookupError("no such table")

    with pytest.raises(LookupError):
        await Watch(look).run(asyncio.Event())

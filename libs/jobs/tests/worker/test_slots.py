from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import cast

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from classifeed_common.telemetry.metric_set import MetricSet
from classifeed_jobs.telemetry.durations import Durations
from classifeed_jobs.worker.run import Run
from classifeed_jobs.worker.slots import ExecutionSlots

_SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


async def run_all(handle: Callable[[str], Awaitable[None]], names: str, *, concurrency: int = 1) -> list[str]:
    """Run a job for each letter; return the order of completion."""
    ended: list[str] = []
    all_ended = asyncio.Event()

    async def handle_one(run: Run) -> None:
        try:
            await handle(cast(str, run))
        finally:
            ended.append(cast(str, run))
            if len(ended) == len(names):
                all_ended.set()

    execution_slots = ExecutionSlots(concurrency, 0.0, handle=handle_one, return_run=lambda run: None)
    for name in names:
        execution_slots.put(cast(Run, name))
    async with asyncio.timeout(60):
        await all_ended.wait()
    await execution_slots.close()
    return ended


async def test_a_run_does_not_see_what_the_one_before_it_left_in_the_context() -> None:
    seen: list[str] = []

    async def handle(name: str) -> None:
        seen.append(_SEEN.get())
        _SEEN.set(name)
        await asyncio.sleep(0)
        assert _SEEN.get() == name  # but it keeps its context over a wait

    _SEEN.set("outside")
    await run_all(handle, "abc")
    assert seen == ["outside"] * 3


async def test_jobs_that_never_wait_yield_to_the_loop() -> None:
    turns = 0
    seen: list[int] = []

    def cursor() -> None:
        nonlocal turns
        turns += 1

    async def handle(_: str) -> None:
        seen.append(turns)
        asyncio.get_running_loop().call_soon(cursor)
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            pass

    await run_all(handle, "abcd")
    assert seen == [0, 1, 2, 3]


async def test_a_cancel_that_comes_too_late_for_its_run_does_not_hit_the_next() -> None:
    waited: list[str] = []

    async def handle(name: str) -> None:
        if name == "a":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # is delivered at the next wait, which this run has not
            return
        await asyncio.sleep(0)
        waited.append(name)

    assert await run_all(handle, "abc") == ["a", "b", "c"]
    assert waited == ["b", "c"]


async def test_runs_that_wait_run_side_by_side_up_to_the_concurrency() -> None:
    running = 0
    most = 0

    async def handle(_: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _step in range(20):
            await asyncio.sleep(0)
        running -= 1

    await run_all(handle, "abcdefghij", concurrency=4)
    assert most == 4


async def test_a_fault_of_one_run_leaves_the_others_their_runner() -> None:
    async def handle(name: str) -> None:
        if name == "a":
            raise RuntimeError("nobody expects it")

    with capture_logs() as logs:
        assert await run_all(handle, "abc") == ["a", "b", "c"]
    assert [log["event"] for log in logs] == ["worker.runner.fault"]


async def test_what_still_runs_is_cancelled_by_close_and_what_waits_is_not_started() -> None:
    began: list[str] = []
    was_cancelled = False

    async def handle(run: Run) -> None:
        nonlocal was_cancelled
        began.append(cast(str, run))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled = True

    execution_slots = ExecutionSlots(1, 0.0, handle=handle, return_run=lambda run: None)
    for name in "ab":
        execution_slots.put(cast(Run, name))
    while not began:
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await execution_slots.close()
    assert (began, was_cancelled) == (["a"], True)


def test_durations_are_a_histogram_as_prometheus_reads_it() -> None:
    registry = CollectorRegistry()
    durations = Durations(MetricSet(), "classifeed_took_seconds", "How long.", {"queue": "any"}, registry=registry)
    for seconds in (0.001, 0.005, 0.006, 8000.0):
        durations.observe(seconds, "q")
    value = registry.get_sample_value
    buckets = {
        le: value("classifeed_took_seconds_bucket", {"queue": "q", "le": le})
        for le in ("0.005", "0.01", "7200.0", "+Inf")
    }
    assert buckets == {"0.005": 2, "0.01": 3, "7200.0": 3, "+Inf": 4}
    assert value("classifeed_took_seconds_count", {"queue": "q"}) == 4
    assert value("classifeed_took_seconds_sum", {"queue": "q"}) == 8000.012

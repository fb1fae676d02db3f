"""Flow control of requests: the circuit breaker while they fail, and the pacer in testing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from classifeed_common.clock import FakeClock
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.pacer import Pacer

WORKERS = 64
REQUEST_S = 0.2
STEP_S = 0.05


async def settle() -> None:
    """Let every task run until it waits for the clock."""
    for _ in range(10):
        await asyncio.sleep(0)


class Workers:
    """Workers that make one request after another; the test sets the outcomes."""

    def __init__(self, breaker: Breaker, clock: FakeClock) -> None:
        self.begun = 0
        self.running = 0
        self.most = 0
        self.succeeds = False
        self._breaker = breaker
        self._clock = clock
        self._tasks = [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    async def _work(self) -> None:
        while True:
            await self._breaker.enter()
            self.begun += 1
            self.running += 1
            self.most = max(self.most, self.running)
            await self._clock.sleep(REQUEST_S)
            self.running -= 1
            self._breaker.leave(succeeded=self.succeeds)

    async def work(self, duration_s: float) -> None:
        """Let time pass in steps that are short compared to a request."""
        await settle()
        for _ in range(round(duration_s / STEP_S)):
            await self._clock.advance(STEP_S)
            await settle()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


MakeWorkers = Callable[[Breaker, FakeClock], Workers]


@pytest.fixture
async def make_workers() -> AsyncIterator[MakeWorkers]:
    made: list[Workers] = []

    def make(breaker: Breaker, clock: FakeClock) -> Workers:
        made.append(Workers(breaker, clock))
        return made[-1]

    yield make
    for workers in made:
        await workers.stop()


async def test_a_service_that_is_away_gets_one_request_a_second(make_workers: MakeWorkers) -> None:
    clock = FakeClock()
    breaker = Breaker(clock, failures=10, probe_s=1.0, most=WORKERS)
    workers = make_workers(breaker, clock)
    await workers.work(0.5)
    assert breaker.is_open
    assert workers.begun <= WORKERS + 10, "those that were under way, and what the first failures let begin"
    before = workers.begun
    await workers.work(60)
    assert 45 <= workers.begun - before <= 60


async def test_it_comes_back_in_steps_and_every_worker_goes_on(make_workers: MakeWorkers) -> None:
    clock = FakeClock()
    breaker = Breaker(clock, failures=10, probe_s=1.0, most=WORKERS)
    workers = make_workers(breaker, clock)
    await workers.work(5)
    workers.succeeds, workers.most = True, 0
    steps: list[int] = []
    while breaker.is_open:
        await workers.work(STEP_S)
        if not steps or workers.most > steps[-1]:
            steps.append(workers.most)
    assert steps[0] <= 1
    assert steps[:3] in ([0, 1, 2], [1, 2, 4]), "a probe first, and then more with each that succeeds"
    begun = workers.begun
    await workers.work(2)
    assert workers.most == WORKERS
    assert workers.begun - begun >= 9 * WORKERS, "nobody waits for ever"


async def test_one_failure_while_it_comes_back_holds_all_back_again() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, failures=3, probe_s=1.0, most=WORKERS)
    for _ in range(3):
        await breaker.enter()
        breaker.leave(succeeded=False)
    await clock.advance(1)
    await breaker.enter()
    breaker.leave(succeeded=True)
    assert breaker.is_open
    await breaker.enter()
    breaker.leave(succeeded=False)
    waiting = asyncio.create_task(breaker.enter())
    await settle()
    await clock.advance(0.9)
    await settle()
    assert not waiting.done()
    await clock.advance(0.2)
    async with asyncio.timeout(10):
        await waiting


@pytest.mark.parametrize("succeeded", [True, None])
async def test_what_succeeds_or_is_given_up_opens_nothing(succeeded: bool | None) -> None:
    breaker = Breaker(FakeClock(), failures=3, probe_s=1.0, most=1)
    for each in (False, False, succeeded):
        await breaker.enter()
        breaker.leave(succeeded=each)
    assert not breaker.is_open
    await breaker.enter()
    breaker.leave(succeeded=False)
    assert breaker.is_open is (succeeded is None), "a success ends the row, what was given up does not"


async def test_a_worker_that_is_stopped_gives_its_permit_to_the_next() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, failures=1, probe_s=1.0, most=2)
    await breaker.enter()
    breaker.leave(succeeded=False)
    first, second = (asyncio.create_task(breaker.enter()) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    await clock.advance(1.1)
    async with asyncio.timeout(10):
        await second


async def test_a_worker_that_is_stopped_as_it_is_let_through_gives_its_permit_to_the_next() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, failures=5, probe_s=1.0, most=1)
    await breaker.enter()
    first, second = (asyncio.create_task(breaker.enter()) for _ in range(2))
    await settle()
    breaker.leave(succeeded=True)  # returns the first one's permit, which it never uses
    first.cancel()
    async with asyncio.timeout(10):
        await second


@pytest.mark.parametrize(("count", "texts"), [(1, 200), (50, 4)])
async def test_the_pacer_counts_texts(count: int, texts: int) -> None:
    clock = FakeClock()
    pacer = Pacer(clock, 100.0)
    waiting: list[asyncio.Task[Any]] = [asyncio.create_task(pacer.wait(count)) for _ in range(texts)]
    await settle()
    await clock.advance(0.99)
    await settle()
    done = sum(task.done() for task in waiting) * count
    assert 99 <= done <= 100 + count
    await clock.advance(1.1)
    async with asyncio.timeout(10):
        await asyncio.gather(*waiting)

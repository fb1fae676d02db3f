"""A Loop continues after every fault, soon at first, and reports a fault that lasts."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.clock import FakeClock
from classifeed_common.errors import Unavailable
from classifeed_common.loops import Loop, loop
from classifeed_common.pacing.backoff import Backoff


class Sweep:
    """Fails or finds more, as specified; afterwards it stops the loop."""

    def __init__(self, *outcomes: Exception | bool | float, wake: asyncio.Event | None = None) -> None:
        self.outcomes = list(outcomes)
        self.stop = asyncio.Event()
        self.clock = FakeClock()
        self.seen: list[bool] = []
        self.faults: list[Exception] = []
        self.work = Loop(
            self,
            period_s=60,
            name="sweep",
            doing="sweeping",
            effect="Files stay",
            wake=wake,
            on_fault=self.faults.append,
            clock=self.clock,
        )

    async def __call__(self) -> bool | float:
        self.seen.append(bool(self.work.blocked()))
        await self.clock.advance(6)
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            self.stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []

    async def wait(stop: asyncio.Event, pause_s: float) -> None:
        found.append(pause_s)

    monkeypatch.setattr(loop, "wait_for_event", wait)
    return found


async def test_faults_of_any_kind_are_retried_ever_later_up_to_the_period(pauses: list[float]) -> None:
    sweep = Sweep(*[OSError("full"), ValueError("no number")] * 4, False, OSError("full"), False)
    await sweep.work.run(sweep.stop)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 1, 60]


async def test_one_that_lasts_is_named_until_it_is_over(pauses: list[float]) -> None:
    sweep = Sweep(OSError("full"), OSError("full"), OSError("full"), False, False)
    await sweep.work.run(sweep.stop)
    assert sweep.seen == [False, False, True, True, False]


async def test_words_say_what_fails_and_what_follows(pauses: list[float]) -> None:
    sweep = Sweep(OSError("full"), OSError("full"))
    await sweep.work.run(sweep.stop)
    assert sweep.work.blocked() == {
        "sweep": "sweeping has failed for 6 s, 2 times: OSError: full. Files stay; it continues once the "
        "cause is fixed."
    }


async def test_work_with_more_to_do_is_called_again_at_once(pauses: list[float]) -> None:
    sweep = Sweep(True, True, False)
    await sweep.work.run(sweep.stop)
    assert pauses == [60]


async def test_a_count_is_no_sign_of_more(pauses: list[float]) -> None:
    sweep = Sweep(500, False)
    await sweep.work.run(sweep.stop)
    assert pauses == [60, 60]


async def test_work_names_its_pause_in_seconds(pauses: list[float]) -> None:
    sweep = Sweep(0.5, 0.0, 7.0, False)
    await sweep.work.run(sweep.stop)
    assert pauses == [0.5, 7.0, 60]


async def test_a_fault_pauses_as_long_as_it_asks_for(pauses: list[float]) -> None:
    sweep = Sweep(Unavailable("AWAY", "away", retry_after_s=30), Unavailable("AWAY", "away"), False)
    await sweep.work.run(sweep.stop)
    assert pauses == [30, 2, 60]


async def test_each_fault_is_reported_to_the_owner(pauses: list[float]) -> None:
    fault = OSError("full")
    sweep = Sweep(fault, False)
    await sweep.work.run(sweep.stop)
    assert sweep.faults == [fault]


async def test_an_owner_may_end_the_loop_at_a_fault() -> None:
    async def fail() -> None:
        raise ValueError("no number")

    def refuse(error: Exception) -> None:
        raise error

    ended = Loop(fail, period_s=60, name="n", doing="d", effect="e", on_fault=refuse)
    with pytest.raises(ValueError, match="no number"):
        await ended.run(asyncio.Event())


async def test_a_wake_ends_a_pause_but_not_the_pause_after_a_fault() -> None:
    wake, stop = asyncio.Event(), asyncio.Event()
    outcomes: list[Exception | None] = [None, OSError("full")]
    rounds: asyncio.Queue[int] = asyncio.Queue()

    async def work() -> None:
        rounds.put_nowait(len(outcomes))
        if (outcome := outcomes.pop(0)) is not None:
            raise outcome

    looped = Loop(work, period_s=60, name="n", doing="d", effect="e", backoff=Backoff(60, 60), wake=wake)
    running = asyncio.create_task(looped.run(stop))
    assert await rounds.get() == 2
    wake.set()
    assert await rounds.get() == 1
    for _ in range(5):
        wake.set()
        await asyncio.sleep(0)
    assert rounds.empty()
    stop.set()
    await running


async def test_a_stop_ends_a_pause_that_waits_for_a_wake() -> None:
    wake, stop, begun = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()

    running = asyncio.create_task(Loop(work, period_s=3600, name="n", doing="d", effect="e", wake=wake).run(stop))
    await begun.wait()
    stop.set()
    await running


async def test_a_step_that_succeeds_ends_the_fault(pauses: list[float]) -> None:
    sweep = Sweep(OSError("full"), OSError("full"), OSError("full"))
    await sweep.work.run(sweep.stop)
    assert sweep.work.blocked()
    sweep.work.note_success()
    assert not sweep.work.blocked()

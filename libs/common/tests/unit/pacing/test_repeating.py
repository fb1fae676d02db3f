"""Repeated work continues after every fault, soon at first, and reports a fault that lasts."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.clock import FakeClock
from classifeed_common.pacing import repeating
from classifeed_common.pacing.repeating import RepeatedWork


class Sweep:
    """Fails or finds more, as specified; afterwards it stops the loop."""

    def __init__(self, *outcomes: Exception | bool | int) -> None:
        self.outcomes = list(outcomes)
        self.stop = asyncio.Event()
        self.clock = FakeClock()
        self.seen: list[bool] = []
        self.work = RepeatedWork(
            self, period_s=60, name="sweep", doing="sweeping", effect="Files stay", clock=self.clock
        )

    async def __call__(self) -> bool | int:
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

    monkeypatch.setattr(repeating, "wait_for_event", wait)
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


async def test_whatever_has_more_to_do_is_called_again_at_once(pauses: list[float]) -> None:
    sweep = Sweep(True, True, False)
    await sweep.work.run(sweep.stop)
    assert pauses == [60]


async def test_a_count_is_no_sign_of_more(pauses: list[float]) -> None:
    sweep = Sweep(500, False)
    await sweep.work.run(sweep.stop)
    assert pauses == [60, 60]

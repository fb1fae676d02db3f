"""DutyCycle limits expensive work to 5 % of the time, and does not delay cheap work."""

from __future__ import annotations

import asyncio
import time

import pytest

from classifeed_common.pacing import duty_cycle as duty_cycle_module
from classifeed_common.pacing.duty_cycle import DutyCycle, gather_records


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_costly_things_are_done_for_5_percent_of_the_time() -> None:
    clock = Clock()
    duty_cycle = DutyCycle(clock_s=clock)
    assert duty_cycle.is_due
    spent = times = 0.0
    while clock.now < 1100:
        if duty_cycle.is_due:
            with duty_cycle.timed():
                clock.now += 0.5
            spent += 0.5
            times += 1
        clock.now += 0.01
    assert duty_cycle.is_long
    assert 4 <= spent <= 5.5
    assert times >= 8


def test_the_pause_may_be_longer() -> None:
    duty_cycle = DutyCycle(100, clock_s=Clock())
    duty_cycle.took(0.5)
    assert duty_cycle.due_in_s == pytest.approx(50)


def test_it_is_put_off_no_longer_than_is_allowed() -> None:
    duty_cycle = DutyCycle(longest_s=30.0, clock_s=Clock())
    duty_cycle.took(1000.0)
    assert duty_cycle.due_in_s == pytest.approx(30)


def test_cheap_things_are_hardly_held_back() -> None:
    clock = Clock()
    duty_cycle = DutyCycle(clock_s=clock)
    duty_cycle.took(0.0005)
    assert not duty_cycle.is_long
    assert duty_cycle.due_in_s == pytest.approx(0.01)
    clock.now += 0.011
    assert duty_cycle.is_due
    assert duty_cycle.due_in_s == 0


def test_what_fails_has_cost_its_time_too() -> None:
    clock = Clock()
    duty_cycle = DutyCycle(clock_s=clock)

    def fail() -> None:
        with duty_cycle.timed():
            clock.now += 5
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert duty_cycle.due_in_s == pytest.approx(100)


def test_a_pause_is_no_shorter_than_is_allowed() -> None:
    duty_cycle = DutyCycle(shortest_s=60.0, clock_s=Clock())
    duty_cycle.took(0.1)
    assert duty_cycle.due_in_s == pytest.approx(60)


@pytest.mark.parametrize(
    ("took_s", "times", "pause_s"), [(0.0, 3, 0.0), (0.01, 3, 0.03), (1.0, 3, 0.5), (0.01, 30, 0.3), (0.1, 30, 0.5)]
)
async def test_a_linger_is_so_many_times_the_transaction_up_to_the_longest(
    took_s: float, times: float, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def wait(_ends: asyncio.Event, limit_s: float) -> None:
        pauses.append(limit_s)

    monkeypatch.setattr(duty_cycle_module, "wait_for_event", wait)
    await gather_records(time.monotonic() - took_s, asyncio.Event(), longest_s=0.5, times=times)
    assert pauses == [pytest.approx(pause_s, abs=0.1)]

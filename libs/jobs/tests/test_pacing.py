"""DutyCycle limits expensive work to 5 % of the time, and does not delay cheap work."""

from __future__ import annotations

import pytest

from classifeed_jobs import pacing
from classifeed_jobs.pacing import DutyCycle


class _Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(pacing, "monotonic", lambda: self.now)


def test_costly_things_are_done_for_5_percent_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    duty_cycle = DutyCycle()
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


def test_the_share_may_be_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    _Clock(monkeypatch)
    duty_cycle = DutyCycle(0.01)
    duty_cycle.took(0.5)
    assert duty_cycle.due_in_s == pytest.approx(50)


def test_it_is_put_off_no_longer_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    _Clock(monkeypatch)
    duty_cycle = DutyCycle(longest_s=30.0)
    duty_cycle.took(1000.0)
    assert duty_cycle.due_in_s == pytest.approx(30)


def test_cheap_things_are_hardly_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    duty_cycle = DutyCycle()
    duty_cycle.took(0.0005)
    assert not duty_cycle.is_long
    assert duty_cycle.due_in_s == pytest.approx(0.01)
    clock.now += 0.011
    assert duty_cycle.is_due
    assert duty_cycle.due_in_s == 0


def test_what_fails_has_cost_its_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    duty_cycle = DutyCycle()

    def fail() -> None:
        with duty_cycle.timed():
            clock.now += 5
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert duty_cycle.due_in_s == pytest.approx(100)

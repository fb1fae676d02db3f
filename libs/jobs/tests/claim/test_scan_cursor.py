"""Where claims begin: ranges of the claim index that leave out nothing but what lies behind a floor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed_jobs import pacing
from classifeed_jobs.claim import scan_cursor as floors
from classifeed_jobs.claim.scan_cursor import Floors

_LONG = 60.0
_LOWEST, _BEYOND = str(-(2**31)), str(2**31)
_EVER = "-infinity"


def _at(second: int) -> datetime:
    return datetime(2026, 11, 22, 10, 0, second, tzinfo=UTC)


def _text(second: int) -> str:
    return _at(second).isoformat()


def _look(found: Floors, asked: dict[str, Any], walked_s: float = 0.0, *, filled: bool = True, **levels: int) -> None:
    """A look that met one job of each priority; with p5=3 priority 5, up to second 3."""
    priorities = [int(name[1:]) for name in levels]
    sinces = [_at(second) for second in levels.values()]
    found.looked(asked, walked_s, priorities, sinces, _at(30), found=len(priorities), is_filled=filled)


def _after(walked_s: float, **levels: int) -> Floors:
    found = Floors()
    _look(found, found.asked(), walked_s)
    _look(found, found.asked(), walked_s, filled=True, **levels)
    return found


def _ranges(asked: dict[str, Any]) -> list[tuple[str, ...]]:
    lists = (asked[name].strip("{}").split(",") for name in ("lows", "sinces", "belows", "untils"))
    return list(zip(*lists, strict=True))


def test_short_looks_are_asked_for_in_the_plain_way() -> None:
    assert Floors().asked() == {}
    assert _after(0.001, p100=1).asked() == {}


def test_ranges_begin_at_the_floors_and_leave_no_gap_between_them() -> None:
    asked = _after(_LONG, p100=1, p5=2).asked()
    assert asked["is_whole"] is False
    assert _ranges(asked) == [
        (_LOWEST, _EVER, "5", _EVER),
        ("5", _text(2), "100", _EVER),
        ("100", _text(1), _BEYOND, _EVER),
    ]


def test_jobs_let_in_behind_a_floor_are_looked_for_where_they_lie() -> None:
    found = _after(_LONG, p100=20, p5=10)
    for priority, second in ((100, 7), (100, 3), (5, 4), (100, 25), (7, 1)):
        found.promoted(priority, _at(second))
    instant = timedelta(microseconds=1)
    assert _ranges(found.asked()) == [
        (_LOWEST, _EVER, "5", _EVER),
        ("5", _text(4), "5", (_at(4) + instant).isoformat()),
        ("5", _text(10), "100", _EVER),
        ("100", _text(3), "100", (_at(3) + instant).isoformat()),
        ("100", _text(7), "100", (_at(7) + instant).isoformat()),
        ("100", _text(20), _BEYOND, _EVER),
    ]


def test_what_was_asked_for_and_seen_is_not_asked_for_again() -> None:
    found = _after(_LONG, p100=20)
    found.promoted(100, _at(3))
    asked = found.asked()
    found.promoted(100, _at(4))  # while the look is under way
    _look(found, asked, filled=False, p100=20)
    assert [since for _, since, _, _ in _ranges(found.asked())] == [_EVER, _text(4), _text(20)]


def test_a_look_that_was_filled_with_what_came_back_has_not_seen_all_of_it() -> None:
    found = _after(_LONG, p100=20)
    found.promoted(100, _at(3))
    _look(found, found.asked(), filled=True, p100=3)
    assert (100, _at(3)) in found._back
    _look(found, found.asked(), filled=False, p100=20)
    assert not found._back


def test_of_very_many_that_came_back_the_last_ones_are_remembered() -> None:
    found = _after(_LONG, p100=20)
    for microsecond in range(floors._BACK_MAX + 7):
        found.promoted(100, _at(1) + timedelta(microseconds=microsecond))
    assert len(found._back) == floors._BACK_MAX
    assert len(_ranges(found.asked())) == floors._BACK_MAX + 2


def test_nothing_is_remembered_while_looks_are_short() -> None:
    found = Floors()
    found.promoted(100, _at(1))
    assert not found._back


def test_whole_looks_come_again_and_end_it_all_when_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(pacing, "monotonic", lambda: now)
    found = _after(1.0, p100=1)
    found.promoted(100, _at(0))
    assert not found.is_whole_due
    assert found.whole_in_s == pytest.approx(20)
    now = 21.0
    asked = found.asked()
    assert asked["is_whole"] is True
    assert _ranges(asked) == [(_LOWEST, _EVER, _BEYOND, _EVER)]
    _look(found, asked, 0.001, p100=3)
    assert found.asked() == {}


def test_a_floor_goes_back_to_what_a_whole_look_found_behind_it() -> None:
    found = _after(_LONG, p100=5)
    _look(found, {"is_whole": True}, _LONG, p100=1)
    assert _ranges(found.asked())[1][1] == _text(1)


def test_a_look_that_saw_all_moves_all_floors_and_sets_one_where_nothing_was_met() -> None:
    found = Floors()
    _look(found, found.asked(), _LONG, filled=False)
    assert _ranges(found.asked())[1:] == [("100", _text(30), _BEYOND, _EVER)]
    _look(found, found.asked(), filled=True, p7=2)
    assert found._since == {100: _at(30), 7: _at(2)}
    _look(found, {"is_whole": False}, filled=False, p100=8)
    assert found._since == {100: _at(8), 7: _at(30)}


def test_of_many_priorities_the_last_ones_met_are_remembered() -> None:
    found = _after(_LONG, **{f"p{n}": 1 for n in range(40)})
    _look(found, {"is_whole": False}, p24=2)
    _look(found, {"is_whole": False}, p99=2)
    lows = [low for low, _, _, _ in _ranges(found.asked())][1:]
    assert len(lows) == floors._LEVELS_MAX
    assert {"24", "99", "39"} <= set(lows)
    assert "25" not in lows

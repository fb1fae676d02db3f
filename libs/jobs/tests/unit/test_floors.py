"""Where claims begin: ranges of the claim index that leave out nothing but what lies behind a floor."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_jobs import floors, pacing
from classifeed_jobs.floors import Floors

_LONG = 60.0
_T = "2026-11-22 10:00:0{}+00"


def _after(walked_s: float, **sinces: str) -> Floors:
    found = Floors()
    found.looked(found.asked(), walked_s, [], [])
    found.looked(found.asked(), walked_s, [int(name[1:]) for name in sinces], list(sinces.values()))
    return found


def _ranges(asked: dict[str, Any]) -> list[tuple[str, ...]]:
    lists = (asked[name].strip("{}").replace('"', "").split(",") for name in ("lows", "sinces", "belows"))
    return list(zip(*lists, strict=True))


def test_short_looks_are_asked_for_in_the_plain_way() -> None:
    assert Floors().asked() == {}
    assert _after(0.001, p100=_T.format(1)).asked() == {}


def test_ranges_begin_at_the_floors_and_leave_no_gap_between_them() -> None:
    asked = _after(_LONG, p100=_T.format(1), p5=_T.format(2)).asked()
    assert asked["is_whole"] is False
    assert _ranges(asked) == [
        (str(-(2**31)), "-infinity", "5"),
        ("5", _T.format(2), "100"),
        ("100", _T.format(1), str(2**31)),
    ]


def test_whole_looks_come_again_and_end_it_all_when_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(pacing, "monotonic", lambda: now)
    found = _after(1.0, p100=_T.format(1))
    assert not found.is_whole_due
    assert found.whole_in_s == pytest.approx(20)
    now = 21.0
    asked = found.asked()
    assert asked["is_whole"] is True
    assert _ranges(asked) == [(str(-(2**31)), "-infinity", str(2**31))]
    found.looked(asked, 0.001, [100], [_T.format(3)])
    assert found.asked() == {}


def test_a_floor_goes_back_to_what_a_whole_look_found_behind_it() -> None:
    found = _after(_LONG, p100=_T.format(5))
    found.looked({"is_whole": True}, _LONG, [100], [_T.format(1)])
    assert _ranges(found.asked())[1][1] == _T.format(1)


def test_of_many_priorities_the_last_ones_met_are_remembered() -> None:
    found = _after(_LONG, **{f"p{n}": _T.format(1) for n in range(40)})
    found.looked({"is_whole": False}, 0.0, [24], [_T.format(2)])
    found.looked({"is_whole": False}, 0.0, [99], [_T.format(2)])
    lows = [low for low, _, _ in _ranges(found.asked())][1:]
    assert len(lows) == floors._LEVELS_MAX
    assert {"24", "99", "39"} <= set(lows)
    assert "25" not in lows

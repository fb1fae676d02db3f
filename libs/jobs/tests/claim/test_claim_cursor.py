"""Start of claims: ranges that cover the claim index except for entries before the cursor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed_common.pacing import duty_cycle
from classifeed_jobs.claim import claim_cursor
from classifeed_jobs.claim.claim_cursor import ClaimCursor, Scan

_LONG = 60.0
_LOWEST, _BEYOND = str(-(2**31)), str(2**31)
_EVER = "-infinity"


def _at(second: int) -> datetime:
    return datetime(2026, 11, 22, 10, 0, second, tzinfo=UTC)


def _text(second: int) -> str:
    return _at(second).isoformat()


def _record(
    found: ClaimCursor, ranges: dict[str, Any], scanned_s: float = 0.0, *, filled: bool = True, **levels: int
) -> None:
    """Record a claim that met one job of each priority; with p5=3 priority 5, up to second 3."""
    priorities = [int(name[1:]) for name in levels]
    sinces = [_at(second) for second in levels.values()]
    found.record(Scan(ranges, scanned_s, priorities, sinces, _at(30), len(priorities), filled))


def _after(scanned_s: float, **levels: int) -> ClaimCursor:
    found = ClaimCursor()
    _record(found, found.parameters(), scanned_s)
    _record(found, found.parameters(), scanned_s, filled=True, **levels)
    return found


def _ranges(ranges: dict[str, Any]) -> list[tuple[str, ...]]:
    lists = (ranges[name].strip("{}").split(",") for name in ("lows", "sinces", "belows", "untils"))
    return list(zip(*lists, strict=True))


def test_short_scans_begin_at_the_head() -> None:
    assert ClaimCursor().parameters() == {}
    assert _after(0.001, p100=1).parameters() == {}


def test_ranges_begin_at_the_cursor_and_leave_no_gap() -> None:
    ranges = _after(_LONG, p100=1, p5=2).parameters()
    assert ranges["is_full_scan"] is False
    assert _ranges(ranges) == [
        (_LOWEST, _EVER, "5", _EVER),
        ("5", _text(2), "100", _EVER),
        ("100", _text(1), _BEYOND, _EVER),
    ]


def test_jobs_promoted_behind_the_cursor_are_scanned_where_they_lie() -> None:
    found = _after(_LONG, p100=20, p5=10)
    for priority, second in ((100, 7), (100, 3), (5, 4), (100, 25), (7, 1)):
        found.promoted(priority, _at(second))
    instant = timedelta(microseconds=1)
    assert _ranges(found.parameters()) == [
        (_LOWEST, _EVER, "5", _EVER),
        ("5", _text(4), "5", (_at(4) + instant).isoformat()),
        ("5", _text(10), "100", _EVER),
        ("100", _text(3), "100", (_at(3) + instant).isoformat()),
        ("100", _text(7), "100", (_at(7) + instant).isoformat()),
        ("100", _text(20), _BEYOND, _EVER),
    ]


def test_ranges_that_were_scanned_are_not_scanned_again() -> None:
    found = _after(_LONG, p100=20)
    found.promoted(100, _at(3))
    ranges = found.parameters()
    found.promoted(100, _at(4))  # while the claim is under way
    _record(found, ranges, filled=False, p100=20)
    assert [since for _, since, _, _ in _ranges(found.parameters())] == [_EVER, _text(4), _text(20)]


def test_a_scan_filled_with_promoted_jobs_has_not_seen_all_of_them() -> None:
    found = _after(_LONG, p100=20)
    found.promoted(100, _at(3))
    _record(found, found.parameters(), filled=True, p100=3)
    assert (100, _at(3)) in found._promoted
    _record(found, found.parameters(), filled=False, p100=20)
    assert not found._promoted


def test_of_very_many_promoted_jobs_the_last_ones_are_remembered() -> None:
    found = _after(_LONG, p100=20)
    for microsecond in range(claim_cursor._PROMOTED_MAX + 7):
        found.promoted(100, _at(1) + timedelta(microseconds=microsecond))
    assert len(found._promoted) == claim_cursor._PROMOTED_MAX
    assert len(_ranges(found.parameters())) == claim_cursor._PROMOTED_MAX + 2


def test_nothing_is_remembered_while_scans_are_short() -> None:
    found = ClaimCursor()
    found.promoted(100, _at(1))
    assert not found._promoted


def test_full_scans_come_again_and_reset_the_cursor_when_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(duty_cycle, "monotonic", lambda: now)
    found = _after(1.0, p100=1)
    found.promoted(100, _at(0))
    assert not found.is_full_scan_due
    assert found.full_scan_in_s == pytest.approx(20)
    now = 21.0
    ranges = found.parameters()
    assert ranges["is_full_scan"] is True
    assert _ranges(ranges) == [(_LOWEST, _EVER, _BEYOND, _EVER)]
    _record(found, ranges, 0.001, p100=3)
    assert found.parameters() == {}


def test_a_cursor_goes_back_to_what_a_full_scan_found_behind_it() -> None:
    found = _after(_LONG, p100=5)
    _record(found, {"is_full_scan": True}, _LONG, p100=1)
    assert _ranges(found.parameters())[1][1] == _text(1)


def test_a_scan_that_saw_all_moves_all_cursors_and_sets_one_where_nothing_was_met() -> None:
    found = ClaimCursor()
    _record(found, found.parameters(), _LONG, filled=False)
    assert _ranges(found.parameters())[1:] == [("100", _text(30), _BEYOND, _EVER)]
    _record(found, found.parameters(), filled=True, p7=2)
    assert found._since == {100: _at(30), 7: _at(2)}
    _record(found, {"is_full_scan": False}, filled=False, p100=8)
    assert found._since == {100: _at(8), 7: _at(30)}


def test_of_many_priorities_the_last_ones_met_are_remembered() -> None:
    found = _after(_LONG, **{f"p{n}": 1 for n in range(40)})
    _record(found, {"is_full_scan": False}, p24=2)
    _record(found, {"is_full_scan": False}, p99=2)
    lows = [low for low, _, _, _ in _ranges(found.parameters())][1:]
    assert len(lows) == claim_cursor._LEVELS_MAX
    assert {"24", "99", "39"} <= set(lows)
    assert "25" not in lows

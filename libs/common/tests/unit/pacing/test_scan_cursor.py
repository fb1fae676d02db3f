"""A ScanCursor begins reads after the last position, with full scans for 5 % of the time."""

from __future__ import annotations

from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_common.pacing.scan_cursor import ScanCursor


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def cursor_at(clock: Clock) -> ScanCursor[int]:
    """Return a cursor after a full scan of 100 ms up to position 7."""
    cursor = ScanCursor(0, DutyCycle(clock_s=clock))
    cursor.read(cursor.begin(), 7, 0.1)
    return cursor


def test_reads_begin_after_the_last_position_until_a_full_scan_is_due() -> None:
    clock = Clock()
    cursor = cursor_at(clock)
    assert (cursor.begin(), cursor.full_scan_in_s) == (7, 2.0)
    cursor.read(7, 9, 0.1)
    assert cursor.begin() == 9
    clock.now += 2.0
    assert cursor.begin() == 0


def test_while_full_scans_are_short_every_read_is_one() -> None:
    clock = Clock()
    cursor = cursor_at(clock)
    clock.now += 2.0
    cursor.read(cursor.begin(), 9, 0.001)
    assert (cursor.begin(), cursor.full_scan_in_s) == (0, 0.0)


def test_a_read_that_finds_nothing_keeps_the_position() -> None:
    cursor = cursor_at(Clock())
    cursor.read(7, None, 0.1)
    assert cursor.begin() == 7


def test_after_a_reset_the_next_read_is_a_full_scan() -> None:
    cursor = cursor_at(Clock())
    cursor.reset()
    assert cursor.begin() == 0

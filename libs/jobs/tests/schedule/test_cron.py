from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_jobs.schedule.cron import Cron
from classifeed_jobs.schedule.schedules import Schedule


def _slots(expression: str, zone: str, begin: str, count: int) -> list[str]:
    """Return slots in local time, each with its offset."""
    moment = datetime.fromisoformat(begin)
    found = []
    for _ in range(count):
        moment = Cron.parse(expression).next_after(moment, ZoneInfo(zone))
        assert moment.tzinfo is UTC
        found.append(moment.astimezone(ZoneInfo(zone)).isoformat())
    return found


_MONDAY = ["2026-11-23T09:00:00+03:00", "2026-11-23T13:00:00+03:00"]


@pytest.mark.parametrize(
    ("expression", "begin", "expected"),
    [
        ("*/15 * * * *", "2026-11-21T10:07:00+00:00", ["2026-11-21T13:15:00+03:00", "2026-11-21T13:30:00+03:00"]),
        ("30 4 * * *", "2026-11-21T10:00:00+00:00", ["2026-11-22T04:30:00+03:00", "2026-11-23T04:30:00+03:00"]),
        (
            "0 9-17/4 * * mon-fri",
            "2026-11-20T15:00:00+00:00",
            ["2026-11-23T09:00:00+03:00", "2026-11-23T13:00:00+03:00"],
        ),
        ("0 0 1 jan,JUL *", "2026-11-20T15:00:00+00:00", ["2027-01-01T00:00:00+03:00", "2027-07-01T00:00:00+03:00"]),
        ("5/20 1 * * *", "2026-11-20T22:06:00+00:00", ["2026-11-21T01:25:00+03:00", "2026-11-21T01:45:00+03:00"]),
        # Either of two restricted days, and Sunday by both of its numbers.
        ("0 0 13 * 5", "2026-11-01T00:00:00+00:00", ["2026-11-06T00:00:00+03:00", "2026-11-13T00:00:00+03:00"]),
        ("0 0 * * 7", "2026-11-21T00:00:00+00:00", ["2026-11-22T00:00:00+03:00", "2026-11-29T00:00:00+03:00"]),
        ("0 0 29 2 *", "2026-11-21T00:00:00+00:00", ["2028-02-29T00:00:00+03:00", "2032-02-29T00:00:00+03:00"]),
        ("@hourly", "2026-11-21T10:00:00+00:00", ["2026-11-21T14:00:00+03:00", "2026-11-21T15:00:00+03:00"]),
    ],
)
def test_slots(expression: str, begin: str, expected: list[str]) -> None:
    assert _slots(expression, "Europe/Moscow", begin, 2) == expected


def test_clock_put_forward() -> None:
    """Berlin, 29 March 2026: 02:00 becomes 03:00. Times in the gap are due once, after it."""
    assert _slots("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+00:00", 2) == [
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert _slots("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15:00+00:00", 3) == [
        "2026-03-29T01:30:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T03:30:00+02:00",
    ]


def test_clock_put_back() -> None:
    """Berlin, 25 October 2026: 03:00 becomes 02:00. A fixed time is due once, an hourly one follows elapsed time."""
    assert _slots("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+00:00", 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    assert _slots("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00+00:00", 5) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]


@given(
    st.sampled_from(["*/7 * * * *", "0 */5 * * *", "15,45 2,3 * * *", "0 0 31 * *", "59 23 * * 0"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
def test_next_slot_lies_ahead_and_nothing_lies_between(expression: str, zone: str, moment: datetime) -> None:
    cron = Cron.parse(expression)
    due = cron.next_after(moment, ZoneInfo(zone))
    assert due > moment
    # The result is the same from any time in between.
    assert cron.next_after(moment + (due - moment) / 2, ZoneInfo(zone)) == due
    assert cron.next_after(due - timedelta(microseconds=1), ZoneInfo(zone)) == due


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("* * * *", "has 4 fields"),
        ("60 * * * *", "does not lie in 0-59"),
        ("5-1 * * * *", "does not lie in"),
        ("*/0 * * * *", "does not lie in"),
        ("a * * * *", "is not a value, range or step"),
        ("*/ * * * *", "is not a value, range or step"),
        ("0 0 30 2 *", "never due"),
    ],
)
def test_what_is_no_cron_is_refused_in_words(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cron.parse(expression)


def test_days_that_are_many_years_away_are_found() -> None:
    """An accepted schedule must never fail later, as it would block other schedules.

    The first of February is a Sunday in 2015, and then not before 2026.
    """
    cron = Cron.parse("0 0 */31 2 sun")
    assert cron.next_after(datetime(2014, 1, 1, tzinfo=UTC), ZoneInfo("UTC")) == datetime(2015, 2, 1, tzinfo=UTC)
    assert cron.next_after(datetime(2015, 2, 2, tzinfo=UTC), ZoneInfo("UTC")) == datetime(2026, 2, 1, tzinfo=UTC)


def test_intervals_are_the_same_for_all_processes() -> None:
    schedule = Schedule("s", "q", "t", every_s=90)
    moment = datetime(2026, 11, 21, 10, 0, 1, tzinfo=UTC)
    assert schedule.next_after(moment) == datetime(2026, 11, 21, 10, 1, 30, tzinfo=UTC)
    assert schedule.next_after(schedule.next_after(moment)) == datetime(2026, 11, 21, 10, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either cron or every_s"),
        ({"cron": "* * * * *", "every_s": 3}, "either cron or every_s"),
        ({"every_s": 0}, "1 or more"),
        ({"every_s": 1, "time_zone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ({"every_s": 1, "missed": "later"}, "skip, run_once or run_all"),
    ],
)
def test_schedule_that_cannot_be_is_refused_in_words(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule("s", "q", "t", **options)  # type: ignore[arg-type]

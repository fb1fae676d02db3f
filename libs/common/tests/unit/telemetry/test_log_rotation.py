from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from classifeed_common.telemetry.log_rotation import Rotation

MOSCOW = ZoneInfo("Europe/Moscow")


def is_due(text: str, before: str, after: str, *, zone: ZoneInfo = MOSCOW, size_bytes: int = 1) -> bool:
    moments = [datetime.fromisoformat(moment).replace(tzinfo=zone).timestamp() for moment in (before, after)]
    return Rotation.parse(text).is_due(size_bytes=size_bytes, written_at=moments[0], now=moments[1], zone=zone)


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("10 KB", 10240), ("1 MB", 1024**2), ("2GB", 2 * 1024**3), (" 3 mb ", 3 * 1024**2)]
)
def test_a_file_holds_its_size_and_not_a_byte_more(text: str, size_bytes: int) -> None:
    later = ("2026-11-22 10:00", "2027-11-22 10:00")
    assert not is_due(text, *later, size_bytes=size_bytes)
    assert is_due(text, *later, size_bytes=size_bytes + 1)


@pytest.mark.parametrize("text", ["midnight", "1 day", "1 DAYS"])
def test_days_begin_at_midnight_of_the_zone(text: str) -> None:
    assert not is_due(text, "2026-11-22 00:00:00", "2026-11-22 23:59:59", size_bytes=10**12)
    assert is_due(text, "2026-11-22 23:59:59", "2026-11-23 00:00:00")
    # 23:30 and 00:30 in Moscow are one day in UTC.
    evening = datetime(2026, 11, 22, 20, 30, tzinfo=UTC).timestamp()
    rotation = Rotation.parse(text)
    assert rotation.is_due(size_bytes=1, written_at=evening, now=evening + 3600, zone=MOSCOW)
    assert not rotation.is_due(size_bytes=1, written_at=evening, now=evening + 3600, zone=UTC)


def test_other_spans_begin_on_the_hour_and_on_monday() -> None:
    assert not is_due("1 hour", "2026-11-22 10:00", "2026-11-22 10:59")
    assert is_due("1 hour", "2026-11-22 10:59", "2026-11-22 11:00")
    assert not is_due("1 week", "2026-11-16 00:00", "2026-11-22 23:59")
    assert is_due("1 week", "2026-11-22 23:59", "2026-11-23 00:00")
    assert is_due("1 day", "2026-10-25 01:30", "2026-10-26 00:30", zone=ZoneInfo("Europe/Berlin"))  # a day of 25 hours


def test_a_clock_that_was_set_back_rotates_nothing() -> None:
    assert not is_due("1 day", "2026-11-22 10:00", "2026-11-20 10:00")


@pytest.mark.parametrize(
    "text", ["", "10", "MB", "0 MB", "-1 day", "1.5 GB", "1 month", "10 MBs", "daily", "10 MB 1 day"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a size"):
        Rotation.parse(text)

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from classifeed_common.fetch.exchanging.retry_after import parse_retry_after

NOW = datetime(2026, 11, 5, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("-5", 0),
        ("86401", 86400),
        ("9" * 5000, 86400),
        ("Thu, 05 Nov 2026 12:01:30 GMT", 90),
        ("Thu, 05 Nov 2026 12:01:30", 90),
        ("Thursday, 05-Nov-26 12:01:30 GMT", 90),
        ("Thu, 05 Nov 2020 12:00:00 GMT", 0),
        ("Thu, 05 Nov 2099 12:00:00 GMT", 86400),
        ("", None),
        ("soon", None),
        ("1.5", None),
        ("1e9", None),
        ("٣", None),
        ("Thu, 99 Nov 2026 12:01:30 GMT", None),
        ("Thu, 05 Nov 99999999999 12:01:30 GMT", None),
    ],
)
def test_the_wait_is_what_the_server_requests_within_a_day(value: str, wait_s: float | None) -> None:
    assert parse_retry_after(value, NOW) == wait_s

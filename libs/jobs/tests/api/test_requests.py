"""Validation rules of requests, shared by both APIs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from classifeed_common.errors import InvalidArgument
from classifeed_common.http.api.checking import checked
from classifeed_jobs.api.requests import JobBody
from classifeed_jobs.model.storable import MAX_DEPTH, find_fault

_JOB = {"queue": "q", "task": "t", "lock_key": "k"}
_SIX = datetime(2031, 1, 2, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    "due",
    [datetime(2031, 1, 2, 6), datetime(2031, 1, 2, 9, tzinfo=timezone(timedelta(hours=3))), _SIX],
)
def test_times_are_in_utc_whatever_the_database_s_zone_is(due: datetime) -> None:
    available_at = checked(JobBody, _JOB | {"available_at": due}).to_request().available_at
    assert available_at is not None
    assert (available_at, available_at.tzinfo) == (_SIX, UTC)


def test_what_is_left_out_is_as_the_engine_has_it() -> None:
    request = checked(JobBody, _JOB).to_request()
    assert (request.priority, request.max_attempts, request.lease_ttl_s, request.args) == (100, 5, None, {})
    assert checked(JobBody, _JOB | {"max_attempts": None, "priority": 0}).to_request().max_attempts is None


def test_every_wrong_field_is_named_and_no_value_is_shown() -> None:
    with pytest.raises(InvalidArgument) as raised:
        checked(JobBody, {"queue": 1, "task": "s3cret" * 99, "lock_key": "k", "color": 1})
    assert [violation.field for violation in raised.value.violations] == ["queue", "task", "color"]
    assert "s3cret" not in str(raised.value) + str(raised.value.violations)


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 0


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": [1, -2.5, "Ж", None, True, {"b": {}}]}, None),
        (nested(MAX_DEPTH), None),
        (nested(MAX_DEPTH + 1), "is nested deeper than 30 levels"),
        ({"a": [1, {"b": "x\0"}]}, "has a NUL character at a[1].b"),
        ({"a": {"\0": 1}}, "has a NUL character in a name at a"),
        ({"a": ["x\ud800"]}, "has half a surrogate pair at a[0]"),
        ({"a": {"x\udfff": 1}}, "has half a surrogate pair in a name at a"),
        ({"a": ["\U0001f600"]}, None),
        ([float("inf")], "has a number that is not finite at [0]"),
        ({"n": -(1 << 1024)}, "has a number of more than 1024 bits at n"),
    ],
)
def test_only_what_can_be_kept_is_taken(value: Any, fault: str | None) -> None:
    assert find_fault(value) == fault

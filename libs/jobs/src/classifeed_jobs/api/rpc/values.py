"""Conversion of JSON values and times to protobuf types, and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed_common.errors import FieldViolation
from classifeed_common.http.api.checking import refusal

_OPTIONAL_NUMBERS: Final = ("priority", "max_attempts", "lease_ttl_sec")
_EXACT: Final = 2**53


def run_request(request: Any) -> dict[str, Any]:
    """Return the values of a RunRequest from a message with its fields, without fields that are not set."""
    values: dict[str, Any] = {"queue": request.queue, "task": request.task, "lock_key": request.lock_key}
    if request.partition_key:
        values["partition_key"] = request.partition_key
    values |= {name: getattr(request, name) for name in _OPTIONAL_NUMBERS if request.HasField(name)}
    if request.HasField("args"):
        try:
            values["args"] = _whole(json_format.MessageToDict(request.args))
        except ValueError as error:
            raise refusal([FieldViolation("args", f"cannot be kept as JSON: {error}")]) from error
    return values


def time_of(timestamp: Timestamp, field: str) -> datetime:
    """Return a timestamp as a datetime.

    Raises:
        InvalidArgument: The time is outside the range of a Timestamp.
    """
    try:
        return timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise refusal([FieldViolation(field, "must be a time between the years 1 and 9999")]) from error


def timestamp_of(time: datetime | None) -> Timestamp | None:
    """Return a time as a message; None stays None."""
    if time is None:
        return None
    timestamp = Timestamp()
    timestamp.FromDatetime(time)
    return timestamp


def struct_of(values: Mapping[str, Any]) -> Struct:
    """Return a JSON object as a message."""
    return json_format.ParseDict(dict(values), Struct())


def _whole(value: Any) -> Any:
    """Return a value with whole floats as integers: a Struct has only floats, but args must be the same over HTTP."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {name: _whole(item) for name, item in value.items()} if isinstance(value, dict) else value

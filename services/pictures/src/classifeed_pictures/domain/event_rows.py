"""Rows of event files, and their faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from classifeed_pictures.domain.event_files import EventFileFault

RowKind: TypeAlias = Literal["requested", "look_again", "delete"]
Value: TypeAlias = str | bytes | int | None
"""A text or its bytes, or a time as text or as microseconds since 1970."""

REQUIRED: Final = ("url", "kind")
TEXTS: Final = (*REQUIRED, "namespace", "recipient", "reference")
EVENT_TIME: Final = "event_time"
COLUMNS: Final = (*TEXTS, EVENT_TIME)
_KINDS: Final = get_args(RowKind)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = datetime.resolution
_EARLIEST_US: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST_US: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


class WrongRow(Exception):
    """A row cannot be used; the text tells why."""


class EventRow(NamedTuple):
    """A row. Its URL, namespace and so on are checked later, as those of all other events."""

    url: str
    kind: RowKind
    namespace: str
    recipient: str
    reference: str
    time_us: int | None


def read_row(row: Mapping[str, Value]) -> EventRow:
    """Return the values of a row.

    Raises:
        WrongRow: it has no URL, no known kind, a text that is not UTF-8, or an invalid time.
    """
    url, kind, namespace, recipient, reference = (_text(row, column) for column in TEXTS)
    if not url:
        raise WrongRow("url is missing")
    if kind not in _KINDS:
        raise WrongRow(f"kind is {kind[:40]!r}; {', '.join(_KINDS)} are known")
    return EventRow(url, cast(RowKind, kind), namespace, recipient, reference, _time_us(row))


def _text(row: Mapping[str, Value], column: str) -> str:
    value = row.get(column)
    try:
        if isinstance(value, str):
            value.encode()
            return value
        return value.decode() if isinstance(value, bytes) else ""
    except UnicodeError as error:
        raise WrongRow(f"{column} is not UTF-8") from error


def _time_us(row: Mapping[str, Value]) -> int | None:
    value = row.get(EVENT_TIME)
    if not isinstance(value, int):
        text = _text(row, EVENT_TIME).strip()
        if not text:
            return None
        try:
            time = datetime.fromisoformat(text)
            value = ((time if time.tzinfo is not None else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
        except (ValueError, OverflowError) as error:
            raise WrongRow(f"event_time is {text[:40]!r}; a time such as 2026-11-24T12:00:00Z is needed") from error
    if not _EARLIEST_US <= value <= _LATEST_US:
        raise WrongRow("event_time is outside of the years 1 to 9999")
    return value


def check_columns(found: Sequence[str]) -> None:
    """Check that a file has the required columns, each once.

    Raises:
        EventFileFault: a column is missing or repeated.
    """
    for column in REQUIRED:
        if column not in found:
            shown = ", ".join(repr(each[:40]) for each in found[:20]) or "none"
            raise EventFileFault(f"there is no column {column}; the columns are {shown}")
    for column in COLUMNS:
        if found.count(column) > 1:
            raise EventFileFault(f"the column {column} occurs {found.count(column)} times")

"""Retries of failed pictures, by class of failure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX

SOURCE_GONE: Final = "PICTURE_SOURCE_GONE"
"""The source of a copy is no longer stored: the picture is downloaded instead."""
QUOTA_EXCEEDED: Final = "PICTURE_QUOTA_EXCEEDED"
"""The quota of the namespace is exhausted."""
NAMESPACE_UNKNOWN: Final = "PICTURE_NAMESPACE_UNKNOWN"
"""The namespace does not exist."""
ROBOTS_DISALLOWED: Final = "PICTURE_ROBOTS_DISALLOWED"
"""The robots.txt of the host forbids the picture to programs."""
ROBOTS_UNREACHABLE: Final = "PICTURE_ROBOTS_UNREACHABLE"
"""The robots.txt of the host cannot be read at present."""
DELETED: Final = "PICTURE_DELETED"
"""The picture was deleted."""
INTERNAL_ERROR: Final = "PICTURE_INTERNAL_ERROR"
"""The job of its order failed permanently, by unexpected exceptions or deaths of its workers."""
OF_THE_NAMESPACE: Final = frozenset({QUOTA_EXCEEDED, NAMESPACE_UNKNOWN})
"""Failures of one namespace only: others may get the picture."""

_LONGEST: Final = timedelta(days=7)


class FailureClass(StrEnum):
    """The duration of a failure."""

    TRANSIENT = "transient"  # the host is down or slow, or limits requests
    RARE = "rare"  # there is no accepted picture; the publisher may change that one day
    NEVER = "never"  # gone, forbidden by law, too large: only a new request causes a retry


@dataclass(frozen=True, slots=True)
class RetryRule:
    """The pauses between attempts.

    Attributes:
        first: pause after the first failure.
        factor: factor by which each further failure lengthens the pause.
        longest: longest pause.
        lasting_after: number of failures in a row after which the failure is reported.
        is_repeated: whether it is retried without a new request.
    """

    first: timedelta
    factor: float
    longest: timedelta
    lasting_after: int
    is_repeated: bool = True

    def pause(self, failed_attempts: int) -> timedelta:
        """Return the pause after a number of failures in a row, at least one."""
        # After 64 steps every rule has reached its longest pause, and floats would overflow later.
        return min(self.first * self.factor ** min(failed_attempts - 1, 64), self.longest)


RULES: Final = {
    FailureClass.TRANSIENT: RetryRule(timedelta(minutes=1), 4.0, timedelta(days=1), lasting_after=3),
    FailureClass.RARE: RetryRule(timedelta(days=1), 2.0, _LONGEST, lasting_after=1),
    FailureClass.NEVER: RetryRule(timedelta(days=1), 1.0, timedelta(days=1), lasting_after=1, is_repeated=False),
}

_NEVER_STATUSES: Final = frozenset({410, 451})
CODES: Final = {
    FailureClass.NEVER: frozenset(
        {
            "HTTP_GONE",
            "TOO_LARGE",
            "RATIO_TOO_HIGH",
            "URL_INVALID",
            "URL_SCHEME",
            "URL_HAS_CREDENTIALS",
            "URL_PORT",
            "PICTURE_TOO_MANY_PIXELS",
            "PICTURE_TOO_MANY_FRAMES",
            "PICTURE_TOO_MUCH_MEMORY",
            "PICTURE_DECODE_TIMEOUT",
            DELETED,
        }
    ),
    FailureClass.RARE: frozenset(
        {
            "HTTP_NOT_FOUND",
            "HTTP_UNAUTHORIZED",
            "HTTP_FORBIDDEN",
            "HTTP_CLIENT_ERROR",
            "HTTP_UNEXPECTED",
            "ADDRESS_REFUSED",
            "DNS_NOT_FOUND",
            "REQUEST_INVALID",
            "HEADERS_TOO_LARGE",
            "PICTURE_NOT_A_PICTURE",
            "PICTURE_UNSUPPORTED",
            "PICTURE_BROKEN",
            "REDIRECT_INVALID",
            "REDIRECT_LOOP",
            "REDIRECT_LIMIT",
            "REDIRECT_DOWNGRADE",
            "ENCODING_UNKNOWN",
            "ENCODING_BROKEN",
            ROBOTS_DISALLOWED,
            NOINDEX,
            # An operator has to act and may then request a retry; each attempt downloads the whole picture.
            *OF_THE_NAMESPACE,
            # The same bytes fail again until a new release, so waiting requests get the failure at once.
            INTERNAL_ERROR,
        }
    ),
    FailureClass.TRANSIENT: frozenset(
        {
            "DNS_FAILED",
            "CONNECT_REFUSED",
            "CONNECT_TIMEOUT",
            "CONNECT_FAILED",
            "PROXY_FAILED",
            "TLS_EXPIRED",
            "TLS_WRONG_NAME",
            "TLS_UNTRUSTED",
            "TLS_FAILED",
            "HTTP_TOO_MANY_REQUESTS",
            "HTTP_UNAVAILABLE",
            "HTTP_SERVER_ERROR",
            "PROTOCOL_ERROR",
            "READ_TIMEOUT",
            "TOO_SLOW",
            "TOTAL_TIMEOUT",
            "CONNECTION_LOST",
            "TRUNCATED",
            "EMPTY_RESPONSE",
            "DISK_FULL",
            "STORE_FAILED",
            ROBOTS_UNREACHABLE,
            SOURCE_GONE,
        }
    ),
}
"""Codes by failure class; the HTTP status may override the class."""
_CLASSES: Final = {code: each for each, codes in CODES.items() for code in codes}


def class_of(failure: LoadFailure) -> FailureClass:
    """Return the class of a failure; an unknown code, as of a newer release, is transient."""
    if failure.http_status in _NEVER_STATUSES:
        return FailureClass.NEVER
    return _CLASSES.get(failure.code, FailureClass.TRANSIENT)


def is_lasting(failure: LoadFailure, failed_attempts: int) -> bool:
    """Return whether the failure is reported after this number of failures in a row."""
    return failed_attempts >= RULES[class_of(failure)].lasting_after


def earliest_attempt(failure: LoadFailure, failed_attempts: int, at: datetime) -> datetime:
    """Return when a request may cause the next attempt: after the pause of the class, and not before the host allows
    it.

    The time that the host demands is respected up to a week.
    """
    paused = at + RULES[class_of(failure)].pause(failed_attempts)
    if not failure.HasField("retry_time"):
        return paused
    asked = failure.retry_time.ToDatetime(tzinfo=at.tzinfo)
    return max(paused, min(asked, at + _LONGEST))


def is_repeated(failure: LoadFailure) -> bool:
    """Return whether a due attempt is made without a new request."""
    return RULES[class_of(failure)].is_repeated

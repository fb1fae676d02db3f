"""When a picture that could not be had is tried again, by class of failure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX

SOURCE_GONE: Final = "PICTURE_SOURCE_GONE"
"""A copy found that its source is not stored any more: the picture is downloaded instead."""
QUOTA_EXCEEDED: Final = "PICTURE_QUOTA_EXCEEDED"
"""The namespace may keep no more."""
NAMESPACE_UNKNOWN: Final = "PICTURE_NAMESPACE_UNKNOWN"
"""There is no such namespace."""
ROBOTS_DISALLOWED: Final = "PICTURE_ROBOTS_DISALLOWED"
"""The host keeps programs from the picture by its robots.txt."""
ROBOTS_UNREACHABLE: Final = "PICTURE_ROBOTS_UNREACHABLE"
"""The robots.txt of the host cannot be read for now."""
DELETED: Final = "PICTURE_DELETED"
"""Somebody has deleted the picture."""
INTERNAL_ERROR: Final = "PICTURE_INTERNAL_ERROR"
"""The job of its order was given up: by faults that nobody foresaw, or by the deaths of its workers."""
OF_THE_NAMESPACE: Final = frozenset({QUOTA_EXCEEDED, NAMESPACE_UNKNOWN})
"""Failures of a namespace alone: others may get the picture."""

_LONGEST: Final = timedelta(days=7)


class FailureClass(StrEnum):
    """How lasting a failure is."""

    TRANSIENT = "transient"  # the host is down, or slow, or limits us
    RARE = "rare"  # nothing is there, or nothing that is taken: somebody has to change it, and may one day
    NEVER = "never"  # gone for good, forbidden by law, too large: only a new request tries again


@dataclass(frozen=True, slots=True)
class RetryRule:
    """When the next attempt is made.

    Attributes:
        first: After the first failure.
        factor: How much longer each further failure makes the pause.
        longest: The longest pause.
        lasting_after: After how many failures in a row the failure is reported.
        is_repeated: Whether it is tried again without a new request.
    """

    first: timedelta
    factor: float
    longest: timedelta
    lasting_after: int
    is_repeated: bool = True

    def pause(self, failed_attempts: int) -> timedelta:
        """Return the pause after so many failures in a row, at least one."""
        # Beyond 64 doublings the longest pause holds for every rule, and floats would overflow.
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
            # An operator has to act, who may call for another attempt then; each attempt downloads all of the picture.
            *OF_THE_NAMESPACE,
            # The same bytes bring it about again until there is another version of us: whoever waits gets it at once.
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
"""Failures by their codes; a status of HTTP may say more."""
_CLASSES: Final = {code: each for each, codes in CODES.items() for code in codes}


def class_of(failure: LoadFailure) -> FailureClass:
    """Return the class of a failure; what is not known, as of a newer version, is transient."""
    if failure.http_status in _NEVER_STATUSES:
        return FailureClass.NEVER
    return _CLASSES.get(failure.code, FailureClass.TRANSIENT)


def is_lasting(failure: LoadFailure, failed_attempts: int) -> bool:
    """Return whether the failure is reported after so many in a row."""
    return failed_attempts >= RULES[class_of(failure)].lasting_after


def earliest_attempt(failure: LoadFailure, failed_attempts: int, at: datetime) -> datetime:
    """Return when a request may cause the next attempt: after the pause of the class, and not before the host allows.

    What the host itself requests is kept to, up to a week.
    """
    paused = at + RULES[class_of(failure)].pause(failed_attempts)
    if not failure.HasField("retry_time"):
        return paused
    asked = failure.retry_time.ToDatetime(tzinfo=at.tzinfo)
    return max(paused, min(asked, at + _LONGEST))


def is_repeated(failure: LoadFailure) -> bool:
    """Return whether an attempt is made without a new request once its time has come."""
    return RULES[class_of(failure)].is_repeated

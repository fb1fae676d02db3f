"""Errors that a caller can act on, and the one table of what they are on gRPC and on HTTP.

Layers below the entry points raise these, and entry points never translate by hand: the server's interceptor makes a
google.rpc.Status (classifeed_common.rpc.status) and the HTTP side a problem document (classifeed_common.http.problems).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

DOMAIN: Final = "classifeed"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """What is wrong with one field of a request: its path from the request's root, and what is allowed."""

    field: str
    description: str


class DomainError(Exception):
    """An error for the caller.

    Args:
        reason: stable, UPPER_SNAKE_CASE; programs branch on it, and the reference has a line for each.
        message: for a person: what happened, where, what to do. No secrets: it leaves the process.
        metadata: further facts for programs, such as the id in question.
        violations: the fields that are wrong, for InvalidArgument.
        retry_after_s: when another try makes sense, in seconds; unset: nothing is known.
    """

    is_expected: ClassVar[bool] = True

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.violations = list(violations)
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class InvalidArgument(DomainError):
    """The request is wrong whatever the state of the system; another try is refused alike."""


class NotFound(DomainError):
    """The thing named does not exist, or not for this caller."""


class AlreadyExists(DomainError):
    """The thing to be made exists with other content."""


class FailedPrecondition(DomainError):
    """The state of the system forbids it; the caller must change that state first."""


class Aborted(DomainError):
    """Another one was faster; reading again and trying again may work."""


class Unauthenticated(DomainError):
    """Nobody knows who calls: no token, or one that is not valid."""


class PermissionDenied(DomainError):
    """The caller is known and may not do this."""


class ResourceExhausted(DomainError):
    """A quota, a limit or a disk is used up."""


class Unavailable(DomainError):
    """A part that is needed does not respond; trying again later is right."""

    is_expected = False


class DeadlineExceeded(DomainError):
    """The caller's time ran out; whether the effect took place is unknown."""


class Unimplemented(DomainError):
    """The method exists in the contract and not in this service."""


class Internal(DomainError):
    """A fault of ours; the message names the log entry, never the cause."""

    is_expected = False


KINDS: Final[Mapping[type[DomainError], tuple[str, int]]] = {
    InvalidArgument: ("INVALID_ARGUMENT", 400),
    Unauthenticated: ("UNAUTHENTICATED", 401),
    PermissionDenied: ("PERMISSION_DENIED", 403),
    NotFound: ("NOT_FOUND", 404),
    AlreadyExists: ("ALREADY_EXISTS", 409),
    Aborted: ("ABORTED", 409),
    FailedPrecondition: ("FAILED_PRECONDITION", 412),
    ResourceExhausted: ("RESOURCE_EXHAUSTED", 429),
    Internal: ("INTERNAL", 500),
    Unimplemented: ("UNIMPLEMENTED", 501),
    Unavailable: ("UNAVAILABLE", 503),
    DeadlineExceeded: ("DEADLINE_EXCEEDED", 504),
}


def kind_of(error: DomainError) -> tuple[str, int]:
    """Return the name of the gRPC code and the HTTP status of an error, by its nearest class in the table."""
    for cls in type(error).__mro__:
        if cls in KINDS:
            return KINDS[cls]
    return KINDS[Internal]


def name_fault(error: BaseException) -> str:
    """Return `Type: words` of an error, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def describe_fault(error: BaseException) -> str:
    """Return the words of an error in one line, with its class where that explains more than they do."""
    named = name_fault(error)
    return named.partition(": ")[2] or named if isinstance(error, DomainError) else named


def times(count: int) -> str:
    """Return how often something happened: "once", or "1,234 times"."""
    return "once" if count == 1 else f"{count:,} times"

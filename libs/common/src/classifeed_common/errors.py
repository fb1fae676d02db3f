"""Errors that a caller can act on, and the table of their gRPC codes and HTTP statuses.

Layers below the entry points raise these errors. Entry points never translate them by hand: the server's interceptor
makes a google.rpc.Status (classifeed_common.rpc.status), and the HTTP side makes a problem document
(classifeed_common.http.problems).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

DOMAIN: Final = "classifeed"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One wrong field of a request: its path from the request's root, and a description of the allowed values."""

    field: str
    description: str


class DomainError(Exception):
    """An error for the caller.

    Args:
        reason: stable code in UPPER_SNAKE_CASE. Programs branch on it; the reference has a line for each.
        message: text for a person: what happened, where, what to do. No secrets: it leaves the process.
        metadata: further facts for programs, such as the id in question.
        violations: wrong fields, for InvalidArgument.
        retry_after_s: seconds after which a retry makes sense; None: unknown.
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
    """The request is wrong in any state of the system; a retry fails too."""


class NotFound(DomainError):
    """The named resource does not exist, or is hidden from this caller."""


class AlreadyExists(DomainError):
    """The resource exists with other content."""


class FailedPrecondition(DomainError):
    """The state of the system forbids the request; the caller must change that state first."""


class Aborted(DomainError):
    """A concurrent change came first; the caller may read again and retry."""


class Unauthenticated(DomainError):
    """The caller is unknown: it sent no token, or an invalid one."""


class PermissionDenied(DomainError):
    """The caller is known and may not do this."""


class ResourceExhausted(DomainError):
    """A quota, a limit or a disk is used up."""


class Unavailable(DomainError):
    """A dependency does not respond; the caller should retry later."""

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
    """Return the gRPC code's name and the HTTP status of an error, from its nearest base class in the table."""
    for cls in type(error).__mro__:
        if cls in KINDS:
            return KINDS[cls]
    return KINDS[Internal]


def name_fault(error: BaseException) -> str:
    """Return an error as `Type: message`, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def describe_fault(error: BaseException) -> str:
    """Return an error's message in one line, with its class name unless it is a DomainError."""
    named = name_fault(error)
    return named.partition(": ")[2] or named if isinstance(error, DomainError) else named


def times(count: int) -> str:
    """Return a count in words: "once", or "1,234 times"."""
    return "once" if count == 1 else f"{count:,} times"

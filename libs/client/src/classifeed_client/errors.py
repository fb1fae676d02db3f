"""What a call may end with, other than its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

_UNREACHABLE = {grpc.StatusCode.UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """A field of the request that was refused."""

    field: str
    description: str


@dataclass
class ApiError(Exception):
    """A call that did not succeed.

    `reason` is stable and has a page of its own; `message` is for people; `metadata` holds the particulars.
    """

    reason: str
    message: str
    metadata: dict[str, str] = field(default_factory=dict)
    violations: list[FieldViolation] = field(default_factory=list)
    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __str__(self) -> str:
        unsaid = [each for each in self.violations if each.description not in self.message]
        return self.message + "".join(f" [{each.field}: {each.description}]" for each in unsaid)


class Refused(ApiError):
    """The service understood the call and said no: asking again the same way will not help."""


class Unreachable(ApiError):
    """The service could not be reached, or cannot work right now: ask again later."""


class DeadlineExceeded(ApiError):
    """No answer came in time."""


def error_of(call: grpc.RpcError) -> ApiError:
    """Turns what grpc raised into one of ours, with the details of google.rpc.Status where the service sent them."""
    code = call.code()
    reason, metadata, violations = code.name, {}, []
    status = rpc_status.from_call(cast(grpc.Call, call))
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations = [FieldViolation(violation.field, violation.description) for violation in bad.field_violations]
    kind: type[ApiError] = Refused
    message = call.details() or code.name
    if code in _UNREACHABLE:
        kind = Unreachable
        if status is None:  # gRPC's own words about a connection
            message = f"The service does not answer. It may be starting: try again in a moment. ({message})"
    elif code is grpc.StatusCode.DEADLINE_EXCEEDED:
        kind = DeadlineExceeded
    return kind(reason, message, metadata, violations, code)

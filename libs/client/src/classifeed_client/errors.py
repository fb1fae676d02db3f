"""Errors of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True, slots=True)
class Peer:
    """A called service and its address, host:port."""

    service: str
    address: str

    def __str__(self) -> str:
        return f"{self.service} at {self.address}"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """A field of the request that the service refused."""

    field: str
    description: str


@dataclass
class ApiError(Exception):
    """A call that did not succeed.

    Attributes:
        reason: Stable error code; the error reference explains it.
        message: Explanation for people.
        metadata: Details of the error, by name.
        violations: Fields of the request that the service refused.
        code: Status code of gRPC.
        retry_after_s: Seconds after which a retry makes sense; None if the service does not say.
    """

    reason: str
    message: str
    metadata: dict[str, str] = field(default_factory=dict)
    violations: list[FieldViolation] = field(default_factory=list)
    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN
    retry_after_s: float | None = None

    def __str__(self) -> str:
        unsaid = [each for each in self.violations if each.description not in self.message]
        return self.message + "".join(f" [{each.field}: {each.description}]" for each in unsaid)


class Refused(ApiError):
    """The service refused the call; retrying the same request will not help."""


class Unreachable(ApiError):
    """The service could not be reached, or is temporarily unable to work: retry later."""


class DeadlineExceeded(ApiError):
    """The service did not respond within the timeout."""


_KINDS: Final[dict[grpc.StatusCode, type[ApiError]]] = {
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def error_of(call: grpc.RpcError, peer: Peer) -> ApiError:
    """Return a gRPC error as an ApiError, with the details of google.rpc.Status if the service sent them.

    If the service could not be reached or did not respond, the metadata contains its name and address (`service`,
    `address`).
    """
    code = call.code()
    reason, metadata, violations, retry_after_s = code.name, {}, [], None
    status = rpc_status.from_call(cast(grpc.Call, call))
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations = [FieldViolation(violation.field, violation.description) for violation in bad.field_violations]
        elif detail.Unpack(retry):
            retry_after_s = retry.retry_delay.ToNanoseconds() / 1e9
    message = call.details() or code.name
    kind = _KINDS.get(code, Refused)
    if kind is not Refused:
        metadata = {"service": peer.service, "address": peer.address, **metadata}
        if status:
            message = f"{peer} says: {message}"
        elif kind is Unreachable:  # the message is gRPC's, about the connection
            message = f"{peer} does not respond. It may be starting: try again in a moment. ({message})"
        else:
            message = f"{peer} did not respond in time."
    return kind(reason, message, metadata, violations, code, retry_after_s)

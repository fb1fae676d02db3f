"""What a call may end with, other than its response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True, slots=True)
class Peer:
    """A service that is called, and where it listens, host:port."""

    service: str
    address: str

    def __str__(self) -> str:
        return f"{self.service} at {self.address}"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """A field of the request that was refused."""

    field: str
    description: str


@dataclass
class ApiError(Exception):
    """A call that did not succeed.

    `reason` is stable and has a page of its own; `message` is for people; `metadata` holds the particulars;
    `retry_after_s` says when another try makes sense, in seconds, and is None where the service does not say.
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
    """The service understood the call and refused it: the same request again will not help."""


class Unreachable(ApiError):
    """The service could not be reached, or cannot work right now: ask again later."""


class DeadlineExceeded(ApiError):
    """No response came in time."""


_KINDS: Final[dict[grpc.StatusCode, type[ApiError]]] = {
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def error_of(call: grpc.RpcError, peer: Peer) -> ApiError:
    """Turn what grpc raised into one of ours, with the details of google.rpc.Status where the service sent them.

    An error of a service that is away or silent names it and its address, also in the metadata (`service`, `address`).
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
        elif kind is Unreachable:  # the words are gRPC's, about a connection
            message = f"{peer} does not respond. It may be starting: try again in a moment. ({message})"
        else:
            message = f"{peer} did not respond in time."
    return kind(reason, message, metadata, violations, code, retry_after_s)

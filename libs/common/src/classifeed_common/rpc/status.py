"""Errors as google.rpc.Status, in both directions: always ErrorInfo, BadRequest for fields, RetryInfo for a time."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final, TypeVar

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped,unused-ignore]

from classifeed_common.errors import (
    DOMAIN,
    KINDS,
    DeadlineExceeded,
    DomainError,
    FieldViolation,
    Internal,
    PermissionDenied,
    Unauthenticated,
    Unimplemented,
    kind_of,
)

ResponseT = TypeVar("ResponseT")

DETAILS_KEY: Final = "grpc-status-details-bin"

# A status travels in HTTP/2 trailers, limited to 8 KiB by default in clients. gRPC writes the message twice, once
# percent-encoded: three bytes for each byte of Cyrillic. Larger ones would reach the caller as RESOURCE_EXHAUSTED.
_MESSAGE_BYTES: Final = 900
_DETAILS_BYTES: Final = 3000
_VIOLATION_CHARS: Final = 300

_CLASSES: Final[Mapping[grpc.StatusCode, type[DomainError]]] = {
    grpc.StatusCode[code]: cls for cls, (code, _) in KINDS.items()
}


def to_status(error: DomainError) -> status_pb2.Status:
    """Return the status of an error, small enough for trailers; details that do not fit are left out and counted."""
    code, _ = kind_of(error)
    status = status_pb2.Status(code=grpc.StatusCode[code].value[0], message=_cut(error.message, _MESSAGE_BYTES))
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)
    for key, value in error.metadata.items():
        info.metadata[key] = value[:_VIOLATION_CHARS]
    bad_request = error_details_pb2.BadRequest()
    size = info.ByteSize()
    for number, violation in enumerate(error.violations):
        entry = error_details_pb2.BadRequest.FieldViolation(
            field=violation.field[:_VIOLATION_CHARS], description=violation.description[:_VIOLATION_CHARS]
        )
        size += entry.ByteSize() + 4
        if size > _DETAILS_BYTES:
            info.metadata["violations_left_out"] = str(len(error.violations) - number)
            break
        bad_request.field_violations.append(entry)
    _pack(status, info)
    if bad_request.field_violations:
        _pack(status, bad_request)
    if error.retry_after_s is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromNanoseconds(int(error.retry_after_s * 1e9))
        _pack(status, retry)
    return status


def from_rpc_error(error: grpc.aio.AioRpcError) -> DomainError:
    """Return the error that another service responded with, including reason, fields and retry time.

    A status of other origin (a broken connection, a proxy) gets the reason UPSTREAM_<CODE>.
    """
    code = error.code()
    cls = _CLASSES.get(code, Internal)
    reason, metadata, violations, retry_after_s = f"UPSTREAM_{code.name}", {}, [], None
    for detail in _details(error):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo.FromString(detail.value)
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad_request = error_details_pb2.BadRequest.FromString(detail.value)
            violations = [FieldViolation(v.field, v.description) for v in bad_request.field_violations]
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry_after_s = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay.ToNanoseconds() / 1e9
    message = error.details() or code.name
    return cls(reason, message, metadata=metadata, violations=violations, retry_after_s=retry_after_s)


async def response_of(call: Awaitable[ResponseT]) -> ResponseT:
    """Return the response of a call to another service.

    Raises:
        DomainError: the service refused, or could not be reached; see `from_rpc_error`.
    """
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error


def from_upstream(error: grpc.aio.AioRpcError) -> DomainError:
    """Return the error for our caller when a service behind us refused a call.

    An error about the caller's request passes unchanged. A refusal of our own call (no token, no such method) is our
    fault and becomes Internal.
    """
    passed_on = from_rpc_error(error)
    if isinstance(passed_on, Unauthenticated | PermissionDenied | Unimplemented | Internal):
        return Internal(
            "UPSTREAM_FAILED",
            "A service behind this one refused an inner call. The log of this service has the cause.",
            metadata={"upstream_code": error.code().name, "upstream_reason": passed_on.reason},
        )
    return passed_on


def deadline_exceeded() -> DeadlineExceeded:
    """Return the error of a call whose deadline passed inside the service."""
    return DeadlineExceeded(
        "DEADLINE_EXCEEDED", "The deadline of the caller passed before the response was ready. Try again."
    )


def _details(error: grpc.aio.AioRpcError) -> list[any_pb2.Any]:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []


def _pack(status: status_pb2.Status, detail: error_details_pb2.ErrorInfo) -> None:
    status.details.add().Pack(detail)


def _cut(text: str, limit_bytes: int) -> str:
    raw = text.encode()
    if len(raw) <= limit_bytes:
        return text
    return raw[: limit_bytes - 3].decode(errors="ignore") + "…"

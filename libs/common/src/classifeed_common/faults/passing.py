"""Which faults pass by themselves: waiting and trying again is right, and nothing is wrong with the work."""

from __future__ import annotations

import errno
import sys
from typing import Final

from classifeed_common.errors import (
    Aborted,
    DeadlineExceeded,
    DomainError,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from classifeed_common.faults.database import is_passing_fault

# That another service does not know us, or does not let us, is a matter of keys and policies, not of the work.
_DOMAIN: Final = (Unavailable, DeadlineExceeded, ResourceExhausted, Aborted, Unauthenticated, PermissionDenied)
_CODES: Final = frozenset(
    {
        "UNAVAILABLE",
        "DEADLINE_EXCEEDED",
        "RESOURCE_EXHAUSTED",
        "ABORTED",
        "CANCELLED",
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
    }
)
# A disk that is full or fails, a machine without files, memory or ports to give, a network that is away.
_NUMBERS: Final = frozenset(
    getattr(errno, name)
    for name in (
        "ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "EINTR", "EBUSY",
        "ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "EADDRNOTAVAIL", "ESTALE",
    )
)  # fmt: skip


def is_passing(error: BaseException) -> bool:
    """Return whether doing the same again later may succeed without anybody changing the work itself.

    True for what is away or exhausted: databases, brokers, object stores, services, disks, networks. False for
    everything else, and so for all that nobody foresaw: a fault that is the same each time must come to an end.
    """
    if isinstance(error, DomainError):
        return isinstance(error, _DOMAIN)
    grpc = sys.modules.get("grpc")
    if grpc is not None and isinstance(error, grpc.RpcError):
        code = getattr(error, "code", None)
        return callable(code) and getattr(code(), "name", "") in _CODES
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    return is_passing_fault(error)

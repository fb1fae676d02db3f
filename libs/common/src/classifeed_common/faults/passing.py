"""Classification of faults as passing: the work is right, and a later retry may succeed."""

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

# That another service does not know or allow this one is a matter of keys and policies, not of the work.
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
# A full or failing disk, a machine without free files, memory or ports, an unreachable network.
_NUMBERS: Final = frozenset(
    getattr(errno, name)
    for name in (
        "ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "EINTR", "EBUSY",
        "ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "EADDRNOTAVAIL", "ESTALE",
    )
)  # fmt: skip


def is_passing(error: BaseException) -> bool:
    """Return whether a later retry of the same work, unchanged, may succeed.

    True for something that is away or exhausted: databases, brokers, object stores, services, disks, networks. False
    for everything else, also for unforeseen faults: a fault that repeats each time must come to an end.
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
    # Only a process that uses the driver has its errors; this module loads no driver.
    database = sys.modules.get("classifeed_common.db.faults")
    return database is not None and bool(database.is_passing_fault(error))

"""The call that is being handled, for code that works on its behalf.

Each call has its own task, so a value set for it never leaks into another call; tasks that the call starts inherit its
values.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

REQUEST_ID_KEY: Final = "x-request-id"
# The caller's name if callers need no token.
UNSIGNED: Final = "-"
# Share of our caller's time that a call to another service leaves, so that we can still report its timeout.
_MARGIN: Final = 0.1
_LONGEST_MARGIN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Peer:
    """Another service: its name and its address."""

    service: str
    address: str

    def __str__(self) -> str:
        return f"{self.service} at {self.address}"


@dataclass(frozen=True, slots=True)
class Call:
    """The call being handled.

    Attributes:
        method: full name of the method.
        caller: name of the caller.
        request_id: id for logs.
        ends_at: end of the caller's wait, by the monotonic clock; None: no limit.
        peers: the service called last on its behalf; empty: none.
    """

    method: str
    caller: str
    request_id: str
    ends_at: float | None
    peers: list[Peer] = field(default_factory=list)


_current: ContextVar[Call | None] = ContextVar("classifeed_call", default=None)


def enter_call(method: str, *, caller: str, request_id: str, time_left_s: float | None) -> Call:
    """Make a call the current one of this task and of the tasks that it starts."""
    ends_at = None if time_left_s is None else time.monotonic() + time_left_s
    call = Call(method, caller, request_id, ends_at)
    _current.set(call)
    return call


def current_call() -> Call | None:
    """Return the call that this task handles, or None outside of one."""
    return _current.get()


def remaining_s() -> float | None:
    """Return the seconds that the caller will still wait (0: it does not wait any more); None: no limit."""
    call = _current.get()
    if call is None or call.ends_at is None:
        return None
    return max(0.0, call.ends_at - time.monotonic())


def bounded_timeout_s(default_s: float | None) -> float | None:
    """Return the smaller of a default timeout and the caller's remaining time, less the time for our response."""
    remaining = remaining_s()
    if remaining is None:
        return default_s
    left_s = remaining - min(remaining * _MARGIN, _LONGEST_MARGIN_S)
    return left_s if default_s is None else min(default_s, left_s)

"""What the call that is being answered says about itself, for whoever works on its behalf.

Each call is answered in a task of its own, so a value set for it never leaks into another one; tasks started by a call
inherit its values.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

REQUEST_ID_KEY: Final = "x-request-id"


@dataclass(frozen=True, slots=True)
class Call:
    """The call being answered: full method, caller's name, id for logs, and when its caller stops waiting."""

    method: str
    caller: str
    request_id: str
    ends_at: float | None


_current: ContextVar[Call | None] = ContextVar("classifeed_call", default=None)


def enter_call(method: str, *, caller: str, request_id: str, time_left_s: float | None) -> Call:
    """Makes a call the current one of this task and of those it starts."""
    ends_at = None if time_left_s is None else time.monotonic() + time_left_s
    call = Call(method, caller, request_id, ends_at)
    _current.set(call)
    return call


def current_call() -> Call | None:
    """Returns the call that this task answers, or None outside of one."""
    return _current.get()


def remaining_s() -> float | None:
    """Returns the seconds that the caller will still wait (0 when it does not any more); None: no bound."""
    call = _current.get()
    if call is None or call.ends_at is None:
        return None
    return max(0.0, call.ends_at - time.monotonic())


def bounded_timeout_s(default_s: float | None) -> float | None:
    """Returns the smaller of a default and what the caller will still wait."""
    remaining = remaining_s()
    if remaining is None or default_s is None:
        return default_s if remaining is None else remaining
    return min(default_s, remaining)

"""Waiting for conditions in a running suite."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], timeout_s: float, what: str, pause_s: float = 0.2) -> T:
    """Return the first true value of a condition; polling takes at most a third of a core.

    Raises:
        AssertionError: the condition is not true in time.
    """
    began_s = time.monotonic()
    ends_at = began_s + timeout_s
    while not (value := condition()):
        now_s = time.monotonic()
        assert now_s < ends_at, f"not within {timeout_s} s: {what}"
        time.sleep(max(pause_s, 2 * (now_s - began_s)))
        began_s = time.monotonic()
    return value

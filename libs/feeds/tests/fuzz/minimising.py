"""Minimise a failing input: remove pieces as long as it fails in the same way (delta debugging, Zeller 2002)."""

from __future__ import annotations

import time
from collections.abc import Callable


def minimise(data: bytes, fails: Callable[[bytes], bool], limit_s: float) -> bytes:
    """Return the shortest input found within the time for which `fails` still holds."""
    deadline = time.monotonic() + limit_s
    pieces = 2
    while len(data) > 1 and time.monotonic() < deadline:
        size = max(1, len(data) // pieces)
        for start in range(0, len(data), size):
            shorter = data[:start] + data[start + size :]
            if fails(shorter):
                data = shorter
                pieces = max(2, pieces - 1)
                break
            if time.monotonic() > deadline:
                break
        else:
            if size == 1:
                return data
            pieces = min(len(data), pieces * 2)
    return data

"""Which JSON values can be kept: those that PostgreSQL's jsonb and google.protobuf.Struct both can."""

from __future__ import annotations

import math
from typing import Any, Final

MAX_DEPTH: Final = 30
MAX_INT_BITS: Final = 1024


def find_fault(value: Any) -> str | None:
    """Return in words what cannot be kept in a JSON value, with its place; None: nothing."""
    return _find(value, "", 0)


def _find(value: Any, place: str, depth: int) -> str | None:
    where = f" at {place}" if place else ""
    if depth > MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, str) and "\0" in value:
        return f"has a NUL character{where}"
    if isinstance(value, str) and _has_surrogate(value):
        return f"has half a surrogate pair{where}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"has a number that is not finite{where}"
    if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
        return f"has a number of more than {MAX_INT_BITS} bits{where}"
    if isinstance(value, list):
        found = (_find(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, dict):
        for name, item in value.items():
            inside = f"{place}.{name}" if place else name
            if "\0" in name:
                return f"has a NUL character in a name{where}"
            if _has_surrogate(name):
                return f"has half a surrogate pair in a name{where}"
            if fault := _find(item, inside, depth + 1):
                return fault
    return None


def _has_surrogate(text: str) -> bool:
    """Whether JSON's escapes made a text that no UTF-8 stands for."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

"""Array literals of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable


def array(values: Iterable[str]) -> str:
    """Return an array literal of words, numbers or times. The driver's adaptation would cost a Python call per item."""
    return "{" + ",".join(values) + "}"

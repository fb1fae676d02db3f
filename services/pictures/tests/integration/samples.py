"""Samples of scraped metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import REGISTRY

PREFIX: Final = "classifeed_pictures_"


def value(name: str, /, prefix: str = PREFIX, **labels: str) -> float:
    """Return a sample."""
    return REGISTRY.get_sample_value(prefix + name, labels) or 0.0


def growth(name: str, /, prefix: str = PREFIX, **labels: str) -> Callable[[], float]:
    """Return a function that returns by how much a sample has grown since."""
    before = value(name, prefix, **labels)
    return lambda: value(name, prefix, **labels) - before

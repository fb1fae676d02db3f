"""CPU time for each picture or event, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def spent(before: Mapping[str, float], after: Mapping[str, float], count: int) -> dict[str, float]:
    """Return the CPU between two readings divided by `count`, in µs by name."""
    return {name: (after[name] - before[name]) / count * 1e6 for name in before}


def show(values: Mapping[str, float]) -> str:
    """Return the values as text."""
    return ", ".join(f"{name} {value:,.0f}" for name, value in values.items())


def medians(rounds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each name."""
    listed = list(rounds)
    return {name: sorted(each[name] for each in listed)[len(listed) // 2] for name in listed[0]}

"""The table: one line for each figure, with its goal and whether it is met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def shown(values: Sequence[float]) -> str:
    """Return median and spread."""
    return f"{statistics.median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"


class Report:
    """Prints each line immediately.

    Attributes:
        rows: the figures for the JSON line.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def show(self, name: str, message: str) -> None:
        """Add a figure without a goal."""
        self._put(name, message, None, None)

    def ratio(self, name: str, values: Sequence[float], others: Sequence[float], goal: float | None) -> None:
        """Add the median ratio of rates to other rates of the same rounds."""
        ratios = [value / other for value, other in zip(values, others, strict=True)]
        message = f"({min(ratios):.2f}–{max(ratios):.2f}); {shown(values)} / {shown(others)}"
        self.at_least(name, statistics.median(ratios), goal, message)

    def at_least(self, name: str, value: float, goal: float | None, message: str = "") -> None:
        """Add a figure that should be as large as its goal."""
        self._put(
            name, f"{value:.2f} {message}", f"≥ {goal:g}" if goal is not None else None, goal is None or value >= goal
        )

    def at_most(self, name: str, value: float, goal: float | None, message: str = "") -> None:
        """Add a figure that should be no larger than its goal."""
        self._put(
            name, f"{value:.2f} {message}", f"≤ {goal:g}" if goal is not None else None, goal is None or value <= goal
        )

    def _put(self, name: str, message: str, goal: str | None, is_met: bool | None) -> None:
        verdict = "" if goal is None else f"{goal}: {'met' if is_met else 'missed'}"
        print(f"{name:<60} {message.strip():<64} {verdict}", flush=True)
        self.rows.append(
            {"name": name, "figure": message.strip(), "goal": goal, "met": is_met if goal is not None else None}
        )

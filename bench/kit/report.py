"""The report of a benchmark: tables and lines with goals for people, one JSON line for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_NAME_WIDTH: Final = 60
_TEXT_WIDTH: Final = 64


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeated measurements of one figure."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        """The figure."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        """Return the median, and the range in parentheses."""
        return f"{_number(self.median)} ({_number(min(self.values))}–{_number(max(self.values))})"


Cell = str | int | float | Spread | None


class Report:
    """Prints each line at once, and keeps the figures for the JSON line.

    Args:
        bench: the name of the benchmark.
        about: sizes of the run, for the JSON line.

    Attributes:
        is_met: whether all goals so far are met.
    """

    def __init__(self, bench: str, **about: object) -> None:
        self._about = {"bench": bench, **about}
        self._tables: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []
        self.is_met = True

    def table(self, title: str, columns: Sequence[str], rows: Mapping[str, Iterable[Cell]]) -> None:
        """Print a table whose first column has the names of the rows."""
        listed = {name: list(cells) for name, cells in rows.items()}
        self._tables[title] = {
            name: dict(zip(columns, map(_plain, cells), strict=True)) for name, cells in listed.items()
        }
        lines = [["", *columns], *([name, *map(_shown, cells)] for name, cells in listed.items())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        print(f"\n{title}")
        for name, *cells in lines:
            padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            print("  ".join([name.ljust(widths[0]), *padded]).rstrip(), flush=True)

    def show(self, name: str, *figures: Cell) -> None:
        """Add figures without a goal."""
        self._put(name, ", ".join(map(_shown, figures)), None, None, figures)

    def ratio(self, name: str, values: Sequence[float], others: Sequence[float], goal: float | None = None) -> None:
        """Add the median ratio of figures to others of the same rounds, which should be at least its goal."""
        self.at_least(name, ratios(values, others), goal, f"{Spread(values)} / {Spread(others)}")

    def at_least(self, name: str, figure: float | Spread, goal: float | None, text: str = "") -> None:
        """Add a figure that should be as large as its goal."""
        self._put(name, _with_text(figure, text), "≥", goal, [figure])

    def at_most(self, name: str, figure: float | Spread, goal: float | None, text: str = "") -> None:
        """Add a figure that should be no larger than its goal."""
        self._put(name, _with_text(figure, text), "≤", goal, [figure])

    def finish(self) -> int:
        """Print the JSON line; return the exit code: 1 if a goal is missed."""
        print(json.dumps({**self._about, "tables": self._tables, "rows": self._rows}, ensure_ascii=False))
        return 0 if self.is_met else 1

    def _put(self, name: str, text: str, sign: str | None, goal: float | None, figures: Sequence[Cell]) -> None:
        row: dict[str, Any] = {"name": name, "figures": [_plain(figure) for figure in figures]}
        verdict = ""
        if goal is not None:
            [figure] = figures
            value = figure.median if isinstance(figure, Spread) else figure
            assert isinstance(value, int | float)
            is_met = value >= goal if sign == "≥" else value <= goal
            row |= {"goal": f"{sign} {goal:g}", "met": is_met}
            verdict = f"{sign} {_number(goal)}: {'met' if is_met else 'MISSED'}"
            self.is_met = self.is_met and is_met
        self._rows.append(row)
        print(f"{name:<{_NAME_WIDTH}} {text:<{_TEXT_WIDTH}} {verdict}".rstrip(), flush=True)


def ratios(values: Sequence[float], others: Sequence[float]) -> Spread:
    """Return the ratio of figures of the same rounds."""
    return Spread([value / other for value, other in zip(values, others, strict=True)])


def by_name(values: Mapping[str, float]) -> str:
    """Return named figures in one line of text."""
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def quantile(values: Sequence[float], percent: int) -> float:
    """Return a percentile from 1 to 99."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _with_text(figure: float | Spread, text: str) -> str:
    return f"{_shown(figure)} {text}".rstrip()


def _number(value: float) -> str:
    """Return a number with at least three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return _number(cell) if isinstance(cell, int | float) else str(cell)


def _plain(cell: Cell) -> Any:
    """Return a figure for the JSON line: floats have four digits, a spread is median, least and most."""
    if isinstance(cell, Spread):
        return [_plain(value) for value in (cell.median, min(cell.values), max(cell.values))]
    return float(f"{cell:.4g}") if isinstance(cell, float) else cell

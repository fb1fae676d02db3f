"""Charts of benchmarks as SVG: bars of figures, of their part of a goal, or of their ratio to another system."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tools.pages.results import Result, Row, rows_of

_WIDTH_IN: Final = 7.2  # 518 points, 691 pixels
_LEFT, _RIGHT = 0.315, 0.65  # edges of the bars, as parts of the width
_BAR_IN, _OLD_IN, _GAP_IN = 0.13, 0.11, 0.09
_MET, _MISSED, _NEUTRAL, _OLD = "#2a7f4f", "#c2462f", "#3b6ea5", 0.4
_STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "classifeed",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
}
# Ticks of a decade, by the largest ratio of both ends of the axis.
_STEPS: Final = (
    (3, (1, 1.1, 1.2, 1.3, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)),
    (8, (1, 1.5, 2, 3, 5, 7)),
    (60, (1, 2, 5)),
    (math.inf, (1,)),
)
# Text that is missing in the reader's fonts: a browser replaces DejaVu Sans by the next family.
_FONTS: Final = (re.compile(r"'DejaVu Sans'(, sans-serif)?"), "'DejaVu Sans', Verdana, sans-serif")


@dataclass(frozen=True, slots=True)
class _Panel:
    """A group of rows with the same kind of bar.

    Attributes:
        title: what the bars show.
        base: value at which a bar begins: 1 on a logarithmic axis, or 0.
        value: value at which a line's bar ends, or None if the line has no bar.
        label: text of a line.
        rows: rows of the panel.
    """

    title: str
    base: float
    value: Callable[[Result], float | None]
    label: Callable[[Result], str]
    rows: Sequence[Row]

    def lines(self, row: Row) -> list[tuple[Result, float]]:
        """Return the lines of a row that have a bar, newest first."""
        values = [(line, self.value(line)) for line in reversed(row.lines)]
        return [(line, value) for line, value in values if value is not None]

    @property
    def height_in(self) -> float:
        """Height of the bars in inches."""
        return sum(_height_in(len(self.lines(row)), row) for row in self.rows)


def draw(subject: str, one_unit: bool) -> str:
    """Return the chart of a subject as SVG; the same results give the same text."""
    written = io.StringIO()
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = plot(rows_of(subject), one_unit)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = "\n".join(line.rstrip() for line in written.getvalue().splitlines())
    return _FONTS[0].sub(_FONTS[1], text) + "\n"


def plot(rows: Sequence[Row], one_unit: bool) -> Figure:
    """Return the chart of rows: of their figures, or of their goals and ratios."""
    panels = [_figures(rows)] if one_unit else _panels(rows)
    head_in, foot_in = 0.3, 0.32
    height_in = sum(head_in + panel.height_in + foot_in for panel in panels)
    figure = Figure(figsize=(_WIDTH_IN, height_in), facecolor="white")
    top_in = height_in
    for panel in panels:
        bottom_in = top_in - head_in - panel.height_in
        axes = figure.add_axes((_LEFT, bottom_in / height_in, _RIGHT - _LEFT, panel.height_in / height_in))
        _draw_panel(axes, panel)
        figure.text(0.01, (top_in - 0.17) / height_in, panel.title, weight="bold", va="center")
        top_in = bottom_in - foot_in
    return figure


def _figures(rows: Sequence[Row]) -> _Panel:
    unit = rows[0].newest.unit
    title = f"Figure, {unit} (black mark: the goal)" if any(row.newest.aim for row in rows) else f"Figure, {unit}"
    return _Panel(title, 0.0, lambda line: line.figure, _with_goal, rows)


def _panels(rows: Sequence[Row]) -> list[_Panel]:
    goals = [row for row in rows if row.newest.aim]
    ratios = [row for row in rows if row.newest.ratio and not (row.newest.aim and _is_ratio(row))]
    found = []
    if goals:
        title = "Part of the goal that is reached (line: the goal; bars to the right: met)"
        found.append(_Panel(title, 1.0, lambda line: line.reached, _with_goal, goals))
    if len(ratios) > 1 or (ratios and not goals):
        title = "Figure as a multiple of the compared one (line: equal)"
        found.append(_Panel(title, 1.0, lambda line: line.ratio, _with_ratio, ratios))
    return found or [_figures(rows)]


def _is_ratio(row: Row) -> bool:
    return row.newest.unit == "×" or (row.newest.goal or "").startswith("ratio")


def _draw_panel(axes: Axes, panel: _Panel) -> None:
    values = [value for row in panel.rows for _, value in panel.lines(row)]
    y_in = 0.0
    for row in panel.rows:
        y_in = _draw_row(axes, panel, row, y_in)
    axes.set_ylim(y_in, 0)
    axes.yaxis.set_major_locator(NullLocator())
    axes.axvline(panel.base, color="black", linewidth=0.8)
    axes.grid(axis="x", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    if panel.base:
        _logarithmic(axes, values)
    else:
        goals = [row.newest.aim.value for row in panel.rows if row.newest.aim]
        axes.set_xlim(0, max([*values, *goals]) * 1.05)


def _draw_row(axes: Axes, panel: _Panel, row: Row, top_in: float) -> float:
    """Draw name, bars and labels of a row; return its lower edge in inches."""
    beside = axes.get_yaxis_transform()
    lines = panel.lines(row)
    height_in = _height_in(len(lines), row)
    axes.text(-0.03, top_in + height_in / 2, "\n".join(_name(row)), va="center", ha="right", transform=beside)
    y_in = top_in + (height_in - _bars_in(len(lines))) / 2
    for number, (line, value) in enumerate(lines):
        thick_in, alpha = (_OLD_IN, _OLD) if number else (_BAR_IN, 1.0)
        middle_in = y_in + thick_in / 2
        left, right = sorted((panel.base, value))
        bar_in = thick_in * 0.85
        axes.barh(middle_in, right - left, bar_in, left=left, color=_colour(line, panel), alpha=alpha)
        colour, size = ("#777777", 6.5) if number else ("black", 7.5)
        label = f"{panel.label(line)}, {line.date:%m-%d}"
        axes.text(1.03, middle_in, label, va="center", color=colour, size=size, transform=beside)
        y_in += thick_in
    if not panel.base and row.newest.aim:
        goal = row.newest.aim.value
        axes.plot([goal, goal], [top_in + 0.02, top_in + height_in - 0.02], color="black", linewidth=1.5)
    return top_in + height_in


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xscale("log")
    low, high = min(*values, 0.8), max(*values, 1.25)
    axes.set_xlim(low / 1.1, high * 1.1)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    steps = next(steps for widest, steps in _STEPS if high / low <= widest)
    ticks = [step * 10.0**power for power in powers for step in steps]
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low / 1.1 <= tick <= high * 1.1]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))


def _bars_in(bars: int) -> float:
    return _BAR_IN + _OLD_IN * (bars - 1)


def _height_in(bars: int, row: Row) -> float:
    names_in = 0.115 * len(_name(row))
    return max(_bars_in(bars), names_in) + _GAP_IN


def _name(row: Row) -> list[str]:
    return textwrap.wrap(row.newest.row.replace("`", ""), 36)


def _with_goal(line: Result) -> str:
    aim = line.aim
    figure = f"{line.ratio:g} ×" if aim and aim.of_ratio else _figure(line)
    return f"{figure}, goal {aim}" if aim else figure


def _with_ratio(line: Result) -> str:
    other = (line.compared_with or "").partition(" (")[0]
    short = f"{_figure(line)}, {line.ratio:g} ×"
    return f"{short} {other}" if len(short) + len(other) < 37 else short


def _figure(line: Result) -> str:
    return f"{line.figure:,}" if line.unit == "fraction" else f"{line.figure:,} {line.unit}"


def _colour(line: Result, panel: _Panel) -> str:
    if line.reached is None or panel.label is _with_ratio:
        return _NEUTRAL
    return _MET if line.reached >= 1 else _MISSED

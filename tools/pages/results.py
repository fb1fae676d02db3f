"""Results of benchmarks: one file of JSON lines for each subject, in `bench/results`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).parents[2] / "bench" / "results"
_GOAL: Final = re.compile(r"(?P<of>ratio )?(?P<sign>[≥≤]) (?P<value>\d+(\.\d+)?)")
_COMMAND: Final = re.compile(r"([A-Z_]+=\S+ )*(make \S.*|python -m \S.*|\.ci/run)")


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal for a figure or for its ratio.

    Attributes:
        of_ratio: the goal is for the ratio.
        sign: `≥` or `≤`.
        value: bound, in the unit of the figure unless it is for the ratio.
    """

    of_ratio: bool
    sign: str
    value: float

    def __str__(self) -> str:
        """Return the goal as people read it."""
        return f"{self.sign} {self.value:,g}{' ×' if self.of_ratio else ''}"


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One measured figure.

    Attributes:
        row: name of what is measured; lines of one row are in order of time.
        goal: `≥ 5000` or `≤ 5` for the figure, `ratio ≥ 0.5` for the ratio, or None.
        figure: measured value, in the unit.
        unit: unit of the figure and of its goal; `×` for a multiple.
        compared_with: system or state that the figure is compared with, or None.
        ratio: figure divided by that of `compared_with`, or None.
        spread: range of repeated measurements, or None.
        date: day of the measurement.
        commit: short hash of the measured commit, or None if it was not noted.
        machine: cores, their speed and their load.
        command: command that measures the figure again.
        note: one sentence on the figure, or None. A missed goal has one, which says what limits the figure.
    """

    row: str
    goal: str | None
    figure: int | float
    unit: str
    compared_with: str | None
    ratio: int | float | None
    spread: str | None
    date: datetime.date
    commit: str | None
    machine: str
    command: str
    note: str | None

    def __post_init__(self) -> None:
        """Check what the types do not: the form of goal and command, and fields that belong together."""
        if not _COMMAND.fullmatch(self.command):
            raise ValueError(f"{self.row}: the command {self.command!r} is not `make …`, `python -m …` or `.ci/run`")
        if self.goal is not None and not _GOAL.fullmatch(self.goal):
            raise ValueError(f"{self.row}: the goal {self.goal!r} is not `≥ NUMBER`, `≤ NUMBER` or `ratio ≥ NUMBER`")
        if self.ratio is None and (self.goal or "").startswith("ratio"):
            raise ValueError(f"{self.row}: the goal is a ratio, and the line has none")
        if self.ratio is not None and self.compared_with is None:
            raise ValueError(f"{self.row}: the line has a ratio, and `compared_with` is missing")

    @property
    def aim(self) -> Goal | None:
        """The goal in parts."""
        parts = _GOAL.fullmatch(self.goal or "")
        return parts and Goal(bool(parts["of"]), parts["sign"], float(parts["value"]))

    @property
    def reached(self) -> float | None:
        """Part of the goal that is reached: 1 and more if it is met; None without a goal."""
        goal = self.aim
        if goal is None:
            return None
        value = self.ratio if goal.of_ratio else self.figure
        assert value is not None
        return value / goal.value if goal.sign == "≥" else goal.value / value


@dataclass(frozen=True, slots=True)
class Row:
    """All lines of a row, oldest first."""

    lines: Sequence[Result]

    @property
    def newest(self) -> Result:
        """The last line."""
        return self.lines[-1]


def parse(text: str) -> Result:
    """Return the result of a JSON line.

    Raises:
        msgspec.ValidationError: a field is missing, unknown or wrong.
    """
    return msgspec.json.decode(text, type=Result)


def subjects() -> list[str]:
    """Return the names of all subjects that have a file."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def rows_of(subject: str) -> list[Row]:
    """Return the rows of a subject, in the order of their first lines."""
    rows: dict[str, list[Result]] = {}
    for line in (FOLDER / f"{subject}.jsonl").read_text("utf-8").splitlines():
        result = parse(line)
        rows.setdefault(result.row, []).append(result)
    return [Row(lines) for lines in rows.values()]

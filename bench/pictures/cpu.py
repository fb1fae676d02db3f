"""CPU time of running processes, by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """Return the seconds that a process has used, with those of its children that have ended."""
    return sum(_times(pid))


def cpu_of_family(pid: int) -> float:
    """Return the seconds that a process and all its descendants have used."""
    return cpu_of(pid) + cpu_of_children(pid)


def cpu_of_children(pid: int) -> float:
    """Return the seconds that the living descendants of a process have used."""
    total = 0.0
    for child in _children(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
            total += cpu_of_family(child)
    return total


def own_cpu_of(pid: int) -> float:
    """Return the seconds that a process has used itself, without any child."""
    own, _ = _times(pid)
    return own


def spent(before: Mapping[str, float], after: Mapping[str, float], count: int) -> dict[str, float]:
    """Return the microseconds of CPU for each of `count`, by name."""
    return {name: (after[name] - before[name]) / count * 1e6 for name in before}


def show(values: Mapping[str, float]) -> str:
    """Return them in words."""
    return ", ".join(f"{name} {value:,.0f}" for name, value in values.items())


def medians(rounds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each name."""
    listed = list(rounds)
    return {name: sorted(each[name] for each in listed)[len(listed) // 2] for name in listed[0]}


def _times(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own, ended = fields[11:13], fields[13:15]
    return sum(map(int, own)) / _TICKS, sum(map(int, ended)) / _TICKS


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended since
            found += map(int, (task / "children").read_text().split())
    return found

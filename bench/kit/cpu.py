"""CPU time of processes, read from /proc."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from classifeed_common.processes import child_pids_of

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pids: Iterable[int]) -> float:
    """Return the seconds of CPU of processes, with all their threads."""
    return sum(sum(_times(pid)[:2]) for pid in pids)


def cpu_of_tree(pid: int) -> float:
    """Return the seconds of CPU of a process and its descendants, including those that have ended."""
    return sum(sum(_times(each)) for each in _tree(pid))


def spent(before: Mapping[str, float], after: Mapping[str, float], count: int) -> dict[str, float]:
    """Return the CPU between two readings divided by `count`, in µs by name."""
    return {name: (after[name] - before[name]) / count * 1e6 for name in before}


def medians(rounds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each name."""
    listed = list(rounds)
    return {name: statistics.median(each[name] for each in listed) for name in listed[0]}


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for child in child_pids_of(pid):
        yield from _tree(child)


def _times(pid: int) -> list[float]:
    """Return user and system time of a process, and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):  # the process has just ended, and its parent's times include it
        return [0.0]
    return [int(field) / _TICKS for field in fields[11:15]]

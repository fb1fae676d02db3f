"""Scan cursor: where claims begin while a long-running transaction keeps dead entries at the head of the index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from classifeed_jobs.claim.literals import array
from classifeed_jobs.pacing import DutyCycle

_LEVELS_MAX: Final = 16
_PROMOTED_MAX: Final = 500
_USUAL: Final = 100
_LOWEST: Final = -(2**31)
_BEYOND: Final = 2**31
_EVER: Final = "-infinity"
_INSTANT: Final = timedelta(microseconds=1)

Ranges: TypeAlias = dict[str, Any]
"""Parameters of a claim: the ranges of the claim index to scan, in order. Empty: from the head."""
_Range: TypeAlias = tuple[int, str, int, str]


class Scan(NamedTuple):
    """What one claim scanned.

    Attributes:
        ranges: what it was given.
        scanned_s: how long it scanned entries that are no jobs.
        priorities: those that it met, where ranges were given.
        sinces: for each of them the creation from which on there may be jobs.
        late: the same for priorities of which it met nothing, if it saw all of its ranges.
        met: how many jobs.
        is_filled: it met as many as its limit, and did not see all of its ranges.
    """

    ranges: Ranges
    scanned_s: float
    priorities: Sequence[int] | None
    sinces: Sequence[datetime] | None
    late: datetime | None
    met: int
    is_filled: bool


class ScanCursor:
    """What one process remembers of a queue's claim index: from where on each priority still has jobs.

    A long-running transaction holds back the xmin horizon: what has been claimed since it began stays in the index,
    and a claim from the head scans all of it. When that takes long, claims begin behind what this process took last, at
    each priority on its own; the ranges between known priorities are scanned in full. Jobs that this process itself
    promotes behind the cursor are looked up where they lie. What such a claim cannot see came there otherwise: by
    another process, or in a transaction that committed late. For them there is a full scan again and again, for 5 % of
    the time, and none of this when full scans are short (ADR 0028).
    """

    def __init__(self) -> None:
        self._since: dict[int, datetime] = {}
        self._promoted: dict[tuple[int, datetime], None] = {}
        self._requested: list[tuple[int, datetime]] = []
        self._duty_cycle = DutyCycle()

    @property
    def is_full_scan_due(self) -> bool:
        """Whether the next claim is to scan all of the index."""
        return not self._since or self._duty_cycle.is_due

    @property
    def full_scan_in_s(self) -> float:
        """Seconds until jobs behind the cursor are looked for again."""
        return self._duty_cycle.due_in_s if self._since else 0.0

    def parameters(self) -> Ranges:
        """Return the ranges for the next claim."""
        self._requested = list(self._promoted)
        if not self._duty_cycle.is_long:
            return {}
        is_full_scan = self.is_full_scan_due
        lows, sinces, belows, untils = zip(*self._ranges(is_full_scan=is_full_scan), strict=True)
        return {
            "is_full_scan": is_full_scan,
            "lows": array(map(str, lows)),
            "sinces": array(sinces),
            "belows": array(map(str, belows)),
            "untils": array(untils),
        }

    def record(self, scan: Scan) -> None:
        """Move behind what a claim scanned."""
        if scan.ranges.get("is_full_scan", True):
            self._duty_cycle.took(scan.scanned_s)
        if not self._duty_cycle.is_long:
            self._since.clear()
            self._promoted.clear()
            return
        if scan.late is not None and not scan.is_filled:
            self._since.update(dict.fromkeys((*self._since, _USUAL), scan.late))
        for priority, since in zip(scan.priorities or (), scan.sinces or (), strict=True):
            self._since.pop(priority, None)
            self._since[priority] = since
        while len(self._since) > _LEVELS_MAX:
            del self._since[next(iter(self._since))]
        if not scan.is_filled or scan.met > len(self._requested):  # they come first at their priority
            for rank in self._requested:
                self._promoted.pop(rank, None)

    def promoted(self, priority: int, created_at: datetime) -> None:
        """Note that a job was promoted, maybe behind the cursor; of very many the first ones wait for a full scan."""
        if self._since:
            self._promoted[priority, created_at] = None
        if len(self._promoted) > _PROMOTED_MAX:
            del self._promoted[next(iter(self._promoted))]

    def _ranges(self, *, is_full_scan: bool) -> list[_Range]:
        """Return ranges of (priority, creation), each from its beginning up to before its end, in order."""
        if is_full_scan:
            return [(_LOWEST, _EVER, _BEYOND, _EVER)]
        levels = sorted(self._since)
        ranges: list[_Range] = [(_LOWEST, _EVER, levels[0], _EVER)]
        for priority, below in zip(levels, [*levels[1:], _BEYOND], strict=True):
            since = self._since[priority]
            promoted = sorted(at for one, at in self._promoted if one == priority and at < since)
            ranges += [(priority, at.isoformat(), priority, (at + _INSTANT).isoformat()) for at in promoted]
            ranges.append((priority, since.isoformat(), below, _EVER))
        return ranges

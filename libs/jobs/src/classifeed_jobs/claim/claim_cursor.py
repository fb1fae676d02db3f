"""ClaimCursor: start of claims while a long-running transaction keeps dead entries at the head of the index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_jobs.claim.literals import array

_LEVELS_MAX: Final = 16
_PROMOTED_MAX: Final = 500
_USUAL: Final = 100
_LOWEST: Final = -(2**31)
_BEYOND: Final = 2**31
_EVER: Final = "-infinity"
_INSTANT: Final = timedelta(microseconds=1)

Ranges: TypeAlias = dict[str, Any]
"""Parameters of a claim: ranges of the claim index to scan, in order. If empty, the scan starts at the head."""
_Range: TypeAlias = tuple[int, str, int, str]


class Scan(NamedTuple):
    """The scan of one claim.

    Attributes:
        ranges: Ranges of the claim.
        scanned_s: Seconds spent on dead entries.
        priorities: Priorities of the scanned jobs, if ranges were given.
        sinces: Creation time from which jobs may remain, for each priority.
        late: The same for priorities without scanned jobs, if all ranges were scanned.
        met: Number of scanned jobs.
        is_filled: Whether the scan stopped at its limit before the end of its ranges.
    """

    ranges: Ranges
    scanned_s: float
    priorities: Sequence[int] | None
    sinces: Sequence[datetime] | None
    late: datetime | None
    met: int
    is_filled: bool


class ClaimCursor:
    """State of a queue's claim index in one process: the creation time from which each priority may have jobs.

    A long-running transaction holds back the xmin horizon. Jobs that were claimed since it began remain in the index as
    dead entries, and a claim from the head scans all of them. When this takes long, claims of each priority start after
    the last job that this process claimed; ranges between known priorities are scanned in full. Jobs that this process
    promotes before the cursor are looked up directly. Jobs of other processes or of late commits may be missed there,
    so a full scan is repeated, for 5 % of the time. If full scans are short, every scan is a full scan (ADR 0028).
    """

    def __init__(self) -> None:
        self._since: dict[int, datetime] = {}
        self._promoted: dict[tuple[int, datetime], None] = {}
        self._requested: list[tuple[int, datetime]] = []
        self._duty_cycle = DutyCycle()

    @property
    def is_full_scan_due(self) -> bool:
        """Whether the next claim scans the whole index."""
        return not self._since or self._duty_cycle.is_due

    @property
    def full_scan_in_s(self) -> float:
        """Seconds until the next full scan."""
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
        """Update the cursor after a scan."""
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
        if not scan.is_filled or scan.met > len(self._requested):  # they are the first jobs of their priority
            for rank in self._requested:
                self._promoted.pop(rank, None)

    def promoted(self, priority: int, created_at: datetime) -> None:
        """Remember a promoted job, which may lie before the cursor. The oldest of many wait for a full scan."""
        if self._since:
            self._promoted[priority, created_at] = None
        if len(self._promoted) > _PROMOTED_MAX:
            del self._promoted[next(iter(self._promoted))]

    def _ranges(self, *, is_full_scan: bool) -> list[_Range]:
        """Return half-open ranges of (priority, creation time), in order."""
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

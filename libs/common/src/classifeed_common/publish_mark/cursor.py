"""DueCursor: where a read of due rows may begin while the index is full of dead entries (ADR 0038)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_SLOW_S: Final = 0.003
_FULL_SCAN_SHARE: Final = 20


class DueCursor:
    """The version above which the next read begins; 0: a full scan.

    While any transaction is open, each row that was due since its start leaves an entry in the index of due rows, and a
    read from the head scans them all. Rows need no order, so a read may begin above the versions of the last one. Full
    scans find the rows below (committed late, refused, due again). They take 5 % of the time: after one of 100 ms, the
    next comes in 2 s. While full scans are short, every read is one.

    Args:
        slow_s: duration of a full scan, in seconds, from which on reads begin above.
        clock_s: monotonic clock.
    """

    def __init__(self, *, slow_s: float = _SLOW_S, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._slow_s = slow_s
        self._clock_s = clock_s
        self._above = 0
        self._full_scan_at_s = 0.0
        self._began_s = 0.0

    @property
    def above(self) -> int:
        """The last read version; 0: full scans are short, or there was no read yet."""
        return self._above

    def begin(self) -> int:
        """Return the version above which the following read must begin."""
        self._began_s = self._clock_s()
        return 0 if self._began_s >= self._full_scan_at_s else self._above

    def read(self, above: int, last_version: int | None) -> None:
        """Record the last version of a read that began above `above`; None: it found nothing."""
        if above == 0:
            now_s = self._clock_s()
            took_s = now_s - self._began_s
            if took_s < self._slow_s:
                self._above, self._full_scan_at_s = 0, 0.0
                return
            self._full_scan_at_s = now_s + _FULL_SCAN_SHARE * took_s
        if last_version is not None:
            self._above = max(self._above, last_version)

    def reset(self) -> None:
        """Start with a full scan."""
        self._above, self._full_scan_at_s = 0, 0.0

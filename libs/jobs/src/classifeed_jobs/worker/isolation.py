"""Isolation: a job whose worker died too often runs alone, so that its last death is its own and not a neighbour's."""

from __future__ import annotations

from time import monotonic
from typing import Final

from classifeed_jobs.claim.claim import Claim

_LONGEST_S: Final = 600.0


class Isolation:
    """Decides, for one worker process, which claims may start beside which (ADR 0032).

    A process dies with all that it runs, and it is unknown which of its jobs killed it: the death counts for each of
    them. A job that would be quarantined by one more runs alone. A worker that meets such a job while others run gives
    it back, claims nothing more until those have ended, and polls its queue first then. After ten minutes alone it
    is not held to be what kills at once, and others start beside it.
    """

    def __init__(self) -> None:
        self._alone_since: float | None = None
        self._waits = False
        self._queue = ""
        self._is_wary = False

    def may_start(self, claim: Claim, *, is_idle: bool) -> bool:
        """Return whether a claimed job may start now; otherwise it is to be given back.

        Args:
            claim: the job; of those claimed together the ones that run alone come first.
            is_idle: nothing else runs in this process, or waits to.
        """
        if self._is_alone:
            return False
        self._is_wary = claim.runs_alone
        if not claim.runs_alone:
            return True
        self._queue = claim.queue
        self._waits = not is_idle
        self._alone_since = monotonic() if is_idle else None
        return is_idle

    def room(self, room: int) -> int:
        """Return how many jobs may be claimed now, of those that there is room for.

        One at a time where the last one was to run alone: after deaths of a busy process there are many of them.
        """
        if self._is_alone or self._waits:
            return 0
        return min(room, 1) if self._is_wary else room

    def over(self) -> str | None:
        """Take note that nothing runs any more; returns the queue to poll first, None: any."""
        if self._alone_since is None and not self._waits:
            return None
        self._alone_since, self._waits = None, False
        return self._queue

    @property
    def _is_alone(self) -> bool:
        return self._alone_since is not None and monotonic() - self._alone_since < _LONGEST_S

"""Isolation: a job whose worker died too often runs alone, so that its last death was not caused by another job."""

from __future__ import annotations

from time import monotonic
from typing import Final

from classifeed_jobs.claim.claim import Claim

_LONGEST_S: Final = 600.0


class Isolation:
    """Decides which claims of a worker process may run concurrently (ADR 0032).

    When a process dies, the death counts for each of its jobs, because it is unknown which of them killed it. A job
    that the next death would quarantine runs alone. If a worker claims such a job while others run, it requeues the
    job, claims nothing until the others have ended, and then polls the job's queue first. After ten minutes alone, the
    job is not considered an immediate killer, and other jobs may start next to it.
    """

    def __init__(self) -> None:
        self._alone_since: float | None = None
        self._waits = False
        self._queue = ""
        self._is_wary = False

    def may_start(self, claim: Claim, *, is_idle: bool) -> bool:
        """Return whether a claimed job may start now; otherwise the caller requeues it.

        Args:
            claim: Claim of the job. Of jobs claimed together, those that run alone come first.
            is_idle: Whether no other job runs or waits in this process.
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
        """Return how many jobs may be claimed now, at most `room`.

        It is one at a time if the last job had to run alone: after deaths of a busy process, many jobs have to.
        """
        if self._is_alone or self._waits:
            return 0
        return min(room, 1) if self._is_wary else room

    def over(self) -> str | None:
        """Handle the end of all runs; return the queue to poll first, None for any."""
        if self._alone_since is None and not self._waits:
            return None
        self._alone_since, self._waits = None, False
        return self._queue

    @property
    def _is_alone(self) -> bool:
        return self._alone_since is not None and monotonic() - self._alone_since < _LONGEST_S

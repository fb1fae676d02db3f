"""Delayed jobs: promotes them when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.model.job import Rank
from classifeed_jobs.pacing import DutyCycle

_SQL = load_queries("classifeed_jobs.claim", "delayed.sql")
_PROMOTE_DUE = _SQL["promote_due"]
_NEXT_DUE = _SQL["next_due"]

_LIMIT: Final = 1000
_EVER: Final = "-infinity"
_HELD_WAIT_S: Final = 0.02


class DelayedJobs:
    """Promotes delayed jobs of some queues to the claim index when they are due.

    What was promoted stays in the index of the delayed ones as long as a transaction is open somewhere; when scanning
    it takes long, polls begin behind it (as claims do, see `ScanCursor`), and scan all of it for 5 % of the time.
    """

    def __init__(self, queues: Sequence[str]) -> None:
        self._queues = list(queues)
        self._since = _EVER
        self._duty_cycle = DutyCycle()

    async def promote(self, connection: Tx) -> tuple[list[Rank], float | None]:
        """Promote those that are due (at most 1,000 a queue); return where they stand now, and in how many seconds to
        poll again; None: there are no others.
        """
        is_full_scan = self._duty_cycle.is_due
        request = {"queues": self._queues, "since": _EVER if is_full_scan else self._since}
        rows = await (await connection.execute(_PROMOTE_DUE, request | {"limit": _LIMIT})).fetchall()
        row = await (await connection.execute(_NEXT_DUE, request)).fetchone()
        assert row is not None  # of an aggregate
        next_s, scanned_s, since = row
        if is_full_scan:
            self._duty_cycle.took(2 * scanned_s)
        self._since = since if self._duty_cycle.is_long else _EVER
        if rows:
            return [Rank(*row) for row in rows], 0.0
        if next_s is not None and next_s <= 0:
            next_s = _HELD_WAIT_S  # somebody holds it, or it has become due just now
        if not is_full_scan:
            next_s = self._duty_cycle.due_in_s if next_s is None else min(next_s, self._duty_cycle.due_in_s)
        return [], next_s

"""Promotion of delayed jobs when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.pacing.scan_cursor import ScanCursor
from classifeed_jobs.model.job import Rank

_SQL = load_queries("classifeed_jobs.claim", "delayed.sql")
_PROMOTE_DUE = _SQL["promote_due"]
_NEXT_DUE = _SQL["next_due"]

_LIMIT: Final = 1000
_EVER: Final = "-infinity"
_HELD_WAIT_S: Final = 0.02


class DelayedJobs:
    """Promotes delayed jobs of some queues to the claim index when they are due.

    Promoted jobs leave dead entries in the index of delayed jobs as long as an old transaction is open. When scanning
    them takes long, polls start after them (`ScanCursor`); full scans take 5 % of the time.
    """

    def __init__(self, queues: Sequence[str]) -> None:
        self._queues = list(queues)
        self._cursor: ScanCursor[str] = ScanCursor(_EVER)

    async def promote(self, connection: Tx) -> tuple[list[Rank], float | None]:
        """Promote due jobs, at most 1,000 per queue.

        Returns:
            The ranks of the promoted jobs, and the seconds until the next poll; None if no other job is delayed.
        """
        after = self._cursor.begin()
        request = {"queues": self._queues, "since": after}
        rows = await (await connection.execute(_PROMOTE_DUE, request | {"limit": _LIMIT})).fetchall()
        row = await (await connection.execute(_NEXT_DUE, request)).fetchone()
        assert row is not None  # an aggregate returns a row
        next_s, scanned_s, since = row
        self._cursor.read(after, since, 2 * scanned_s)
        if rows:
            return [Rank(*row) for row in rows], 0.0
        if next_s is not None and next_s <= 0:
            next_s = _HELD_WAIT_S  # another process has locked it, or it has just become due
        if after != _EVER:
            full_scan_s = self._cursor.full_scan_in_s
            next_s = full_scan_s if next_s is None else min(next_s, full_scan_s)
        return [], next_s

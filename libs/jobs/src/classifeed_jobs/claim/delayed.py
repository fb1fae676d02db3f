"""Jobs that wait for their time: lets them in when it has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.model.job import Rank
from classifeed_jobs.pacing import Pace

_SQL = load_queries("classifeed_jobs.claim", "delayed.sql")
_ADMIT_DUE = _SQL["admit_due"]
_NEXT_DUE = _SQL["next_due"]

_LIMIT: Final = 1000
_EVER: Final = "-infinity"
_HELD_WAIT_S: Final = 0.02


class DueLooks:
    """Lets delayed jobs of some queues into the claim index when they are due.

    What was let in stays in the index of the delayed ones as long as a transaction is open somewhere; when it takes
    long to walk over it, looks begin behind it (as claims do, see `Floors`), and see all of it for a twentieth of the
    time.
    """

    def __init__(self, queues: Sequence[str]) -> None:
        self._queues = list(queues)
        self._since = _EVER
        self._pace = Pace()

    async def promote(self, connection: Tx) -> tuple[list[Rank], float | None]:
        """Let in those that are due (at most 1,000 a queue); returns where they lie now, and in how many seconds to
        look again; None: there are no others.
        """
        is_whole = self._pace.is_due
        asked = {"queues": self._queues, "since": _EVER if is_whole else self._since}
        rows = await (await connection.execute(_ADMIT_DUE, asked | {"limit": _LIMIT})).fetchall()
        row = await (await connection.execute(_NEXT_DUE, asked)).fetchone()
        assert row is not None  # of an aggregate
        next_s, walked_s, since = row
        if is_whole:
            self._pace.took(2 * walked_s)
        self._since = since if self._pace.is_long else _EVER
        if rows:
            return [Rank(*row) for row in rows], 0.0
        if next_s is not None and next_s <= 0:
            next_s = _HELD_WAIT_S  # somebody holds it, or it has become due just now
        if not is_whole:
            next_s = self._pace.due_in_s if next_s is None else min(next_s, self._pace.due_in_s)
        return [], next_s

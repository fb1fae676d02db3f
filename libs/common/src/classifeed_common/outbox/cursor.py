"""OutboxCursor: where a read of the outbox may begin, without missing messages that commit late (ADR 0038)."""

from __future__ import annotations

import time
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.pacing.duty_cycle import DutyCycle

_WRITERS: Final = load_queries("classifeed_common.outbox")["list_writers"]
_FULL_SCAN_EVERY_S: Final = 60.0


class OutboxCursor:
    """The id above which the next read begins; 0: a full scan.

    While any transaction is open, removed messages stay in the index, and a read from the head scans them all. Ids are
    drawn before their transactions commit, so the cursor cannot simply follow the sent ids: a smaller id that commits
    later would be skipped, and sent after a later message of its key. Transactions lock the table before they draw an
    id. So the cursor moves to an id after two steps: every transaction that could have drawn a smaller one has ended,
    and a later read has found nothing more below it. A full scan follows from time to time: the ids of a restored
    outbox restart below the cursor.

    Args:
        step: largest distance of the cursor to the sent ids before it is moved; reads scan about as many dead entries.
    """

    def __init__(self, *, step: int = 5000) -> None:
        self._step = step
        self._after = 0
        self._target = 0
        self._writers: frozenset[str] | None = None
        self._full_scans = DutyCycle(shortest_s=_FULL_SCAN_EVERY_S)
        self._began_s = 0.0
        self._settled = False

    @property
    def position(self) -> int:
        """The id up to which all messages are sent and removed."""
        return self._after

    @property
    def is_at_rest(self) -> bool:
        """Whether a read from `position` finds all messages: no full scan is due, and the cursor is not being moved."""
        return not self._target and not self._full_scans.is_due

    def reset(self) -> None:
        """Start with a full scan: the state of the outbox is unknown."""
        self._after = self._target = 0
        self._writers = None

    async def begin(self, tx: Tx) -> int:
        """Return the id above which the following read in `tx` must begin."""
        self._settled = False
        if self._target:
            found = frozenset(holder for (holder,) in await (await tx.execute(_WRITERS)).fetchall())
            self._writers = found if self._writers is None else self._writers & found
            self._settled = not self._writers
        self._began_s = time.monotonic()
        return 0 if self._full_scans.is_due else self._after

    def read(self, after: int) -> None:
        """Record the end of a read; after a full scan, schedule the next one."""
        if after == 0:
            self._full_scans.took(time.monotonic() - self._began_s)

    def removed(self, last_id: int, *, is_whole: bool) -> None:
        """Record that the messages of the read are sent and removed.

        Args:
            last_id: last of their ids; 0: there were none.
            is_whole: whether the read found all messages.
        """
        if self._settled and (is_whole or last_id >= self._target):
            self._after, self._target, self._writers, self._settled = self._target, 0, None, False
        if not self._target and last_id >= self._after + self._step:
            self._target = last_id

"""Where the scan of an outbox may begin: behind what was sent, never past what may still be committed (ADR 0038)."""

from __future__ import annotations

import time
from typing import Final

from classifeed_common.db import Tx, load_queries

_WRITERS: Final = load_queries("classifeed_common.outbox")["list_writers"]
_FULL_SCAN_EVERY_S: Final = 60.0
_FULL_SCAN_SHARE: Final = 20


class OutboxCursor:
    """The id that the next read begins above; 0: a full scan.

    While a transaction is open anywhere, what was sent and removed since it began stays in the index, and a read from
    the head scans all of it. Ids are drawn before their transactions commit, so the cursor may not simply follow
    the ids that were sent: a smaller one that commits later would be left behind, and sent after a later message of its
    key. It moves to an id once every transaction that could have drawn a smaller one has ended, and a read that began
    after that has found nothing more below it. Such transactions hold a lock on the table from before they draw an id.

    From time to time all is scanned: for an outbox that was restored, whose ids begin again below the cursor.

    Args:
        step: how many ids the cursor lies behind at the most before it is moved; about as many dead entries are read.
    """

    def __init__(self, *, step: int = 5000) -> None:
        self._step = step
        self._after = 0
        self._target = 0
        self._writers: frozenset[str] | None = None
        self._full_scan_at_s = 0.0
        self._began_s = 0.0
        self._settled = False

    @property
    def position(self) -> int:
        """The id that everything up to has been sent and removed."""
        return self._after

    @property
    def is_at_rest(self) -> bool:
        """Whether a read from `position` finds all there is: no full scan is due, and the cursor is not on its way."""
        return not self._target and time.monotonic() < self._full_scan_at_s

    def reset(self) -> None:
        """Begin with a full scan: nothing is known of the outbox any more."""
        self._after = self._target = 0
        self._writers = None

    async def begin(self, tx: Tx) -> int:
        """Return the id above which the read that follows in `tx` must look."""
        self._settled = False
        if self._target:
            found = frozenset(holder for (holder,) in await (await tx.execute(_WRITERS)).fetchall())
            self._writers = found if self._writers is None else self._writers & found
            self._settled = not self._writers
        self._began_s = time.monotonic()
        return 0 if self._began_s >= self._full_scan_at_s else self._after

    def read(self, after: int) -> None:
        """Note that the read is over; a full scan says when the next one may be."""
        if after == 0:
            now_s = time.monotonic()
            self._full_scan_at_s = now_s + max(_FULL_SCAN_EVERY_S, _FULL_SCAN_SHARE * (now_s - self._began_s))

    def removed(self, last_id: int, *, is_whole: bool) -> None:
        """Note that what was read is sent and removed.

        Args:
            last_id: the last of its ids; 0: there were none.
            is_whole: whether the read found all that was there.
        """
        if self._settled and (is_whole or last_id >= self._target):
            self._after, self._target, self._writers, self._settled = self._target, 0, None, False
        if not self._target and last_id >= self._after + self._step:
            self._target = last_id

"""Notifier: notifies workers of ready jobs after the commit, with at most one NOTIFY per queue in 5 ms (ADR 0022)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from classifeed_common.db import Database, Tx
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_jobs.schema.promotion import notify_queues

_log = structlog.get_logger("classifeed_jobs.enqueue.notifier")
_SPACING_S: Final = 0.005


class Notifier:
    """Wakes workers in a separate short transaction.

    NOTIFY takes a server-wide lock until its transaction commits, so producers that notify in their own transactions
    commit one after the other. The notifier sends the first wake of a queue immediately and merges the wakes of the
    following 5 ms. If a process dies between commit and wake, workers find its jobs at their next poll
    (DL_CLAIM_BACKOFF_SEC).

    Args:
        database: Database of the jobs.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._flags: WeakKeyDictionary[Tx, set[str]] = WeakKeyDictionary()
        self._due: set[str] = set()
        self._next_s = 0.0
        self._sending: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """Provide a transaction in which a `JobStore` with this notifier enqueues jobs.

        Workers are notified of these jobs after the commit. They find jobs that the caller inserts by SQL at their next
        poll.
        """
        async with self._db.transaction() as tx:
            await tx.execute("SET LOCAL dl_jobs.notify = off")
            flags: set[str] = set()
            self._flags[tx] = flags
            try:
                yield tx
            finally:
                del self._flags[tx]
        self.wake(flags)

    def flag(self, tx: Tx, queues: Iterable[str]) -> bool:
        """Wake queues after the commit of `tx`. Return False if `tx` does not come from this notifier."""
        flags = self._flags.get(tx)
        if flags is None:
            return False
        flags.update(queues)
        return True

    def wake(self, queues: Iterable[str]) -> None:
        """Wake the workers of these queues soon, without waiting."""
        self._due.update(queues)
        if self._due and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send(), name="jobs-notifier")

    async def settled(self) -> None:
        """Wait until all requested wakes have been sent."""
        if self._sending is not None:
            await self._sending

    async def _send(self) -> None:
        while self._due:
            await asyncio.sleep(max(0.0, self._next_s - time.monotonic()))
            queues, self._due = sorted(self._due), set()
            self._next_s = time.monotonic() + _SPACING_S
            try:
                async with self._db.connection() as connection:
                    await notify_queues(connection, queues)
            except Exception as error:  # noqa: BLE001 - workers find the jobs at their next poll anyway
                log_fault(_log, "notifier.failed", error, queues=queues)

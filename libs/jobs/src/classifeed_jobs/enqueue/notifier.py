"""Notifier: notifies workers of ready jobs after the commit, at most one NOTIFY a queue in 5 ms (ADR 0022)."""

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
    """Wakes workers from a short transaction of its own.

    A NOTIFY takes a lock of the whole server until its transaction commits: producers that notify in theirs commit one
    after the other. Under this one the first wake of a queue leaves at once, those within 5 ms after it leave as one.
    A process that dies between commit and wake leaves its jobs to the workers' next poll (DL_CLAIM_BACKOFF_SEC).

    Args:
        database: the database of the jobs.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._flags: WeakKeyDictionary[Tx, set[str]] = WeakKeyDictionary()
        self._due: set[str] = set()
        self._next_s = 0.0
        self._sending: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """As `Database.transaction`, for enqueues by a `JobStore` with this notifier: its workers hear of them after
        the commit. Jobs put in by SQL of one's own are found at the workers' next poll.
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
        """Have queues woken when `tx` has committed; False, and nothing done, when it is not from this notifier."""
        flags = self._flags.get(tx)
        if flags is None:
            return False
        flags.update(queues)
        return True

    def wake(self, queues: Iterable[str]) -> None:
        """Wake the workers of these queues soon; does not wait for it."""
        self._due.update(queues)
        if self._due and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send(), name="jobs-notifier")

    async def settled(self) -> None:
        """Return when everything requested so far has been sent."""
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
            except Exception as error:  # noqa: BLE001 - a wake is only a faster way to what workers find anyway
                log_fault(_log, "notifier.failed", error, queues=queues)

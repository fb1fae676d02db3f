"""Trim the queues: remove elements that every active consumer group has delivered, and old failed elements."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping
from classifeed_receiver.store import queues

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 5.0
_ELEMENTS: Final = 5000
_BETWEEN_SHARDS_S: Final = 0.01
_FORGET_EVERY_S: Final = 600.0


class QueueTrimmer(Looping):
    """Trims all queues, a bounded number of elements of a shard per transaction. Any number of processes may run it.

    Args:
        database: database of the receiver.
        group_lifetime_s: seconds for which an inactive group still delays the trimming.
        failed_age_s: seconds for which an element of the queue `failed` is kept; longer while it is the stored
            version of its document.
        elements: maximum number of elements removed from a shard at a time.
    """

    def __init__(
        self, database: Database, *, group_lifetime_s: float, failed_age_s: float, elements: int = _ELEMENTS
    ) -> None:
        self._database = database
        self._elements = elements
        self._group_lifetime_s = group_lifetime_s
        self._failed_age_s = failed_age_s
        self._forgets_at = 0.0
        self.loop = Loop(
            self._trim_and_forget,
            period_s=_INTERVAL_S,
            name="trimming",
            doing="trimming queues",
            effect="Elements that all groups have read are not removed, and the tables grow",
        )

    async def _trim_and_forget(self) -> None:
        await self.trim_once()
        if time.monotonic() >= self._forgets_at:
            await self.forget_failed()
            self._forgets_at = time.monotonic() + _FORGET_EVERY_S

    async def trim_once(self) -> int:
        """Trim all shards with removable elements; return the number of these shards."""
        async with self._database.connection() as connection:
            trims = await queues.list_trimmable(connection, group_lifetime_s=self._group_lifetime_s)
        for trim in trims:
            async with self._database.connection() as connection:
                await queues.trim_shard(connection, trim, limit=self._elements)
            await asyncio.sleep(_BETWEEN_SHARDS_S)  # pushes come first
        return len(trims)

    async def forget_failed(self) -> int:
        """Remove failed elements that are old enough; return their number."""
        forgotten = 0
        is_full = True
        while is_full:
            async with self._database.transaction() as tx:
                removed = await queues.forget_failed(tx, age_s=self._failed_age_s, limit=self._elements)
            forgotten += removed
            is_full = removed >= self._elements
        return forgotten

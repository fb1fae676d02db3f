"""Trim the queues: remove what every living consumer group has passed."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from classifeed_common.db import Database, is_passing_fault
from classifeed_common.waiting import wait_for_event
from classifeed_receiver.store import queues

_log = structlog.get_logger(__name__)

_BETWEEN_SHARDS_S: Final = 0.01


class QueueTrimmer:
    """Trims all queues, a bounded number of elements of a shard in each transaction. Any number may run at a time."""

    def __init__(self, database: Database, *, interval_s: float, elements: int, group_lifetime_s: float) -> None:
        self._database = database
        self._interval_s = interval_s
        self._elements = elements
        self._group_lifetime_s = group_lifetime_s

    async def run(self, stop: asyncio.Event) -> None:
        """Trims until `stop` is set; a database that is away is waited for."""
        while not stop.is_set():
            try:
                await self.trim_once()
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                _log.warning("queues are not trimmed now", error=str(error))
            await wait_for_event(stop, self._interval_s)

    async def trim_once(self) -> int:
        """Trims what may be trimmed now; returns how many shards had something."""
        async with self._database.connection() as connection:
            trims = await queues.select_trimmable(connection, group_lifetime_s=self._group_lifetime_s)
        for trim in trims:
            async with self._database.connection() as connection:
                await queues.trim_shard(connection, trim, limit=self._elements)
            await asyncio.sleep(_BETWEEN_SHARDS_S)  # pushes come first
        return len(trims)

"""Expire documents whose time is over, and remove tombstones that are old enough."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from classifeed_common.db import Database, is_passing_fault
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.waiting import wait_for_event
from classifeed_receiver.store import registry

_log = structlog.get_logger(__name__)

_COUNTED_AT_MOST: Final = 10_000


class DocumentExpirer:
    """Turns expired documents into tombstones and removes old tombstones, in small transactions.

    Any number may run at a time. The delete of an expired document goes through the queue like any other.
    """

    def __init__(self, database: Database, *, interval_s: float, documents: int, tombstone_age_s: float) -> None:
        self._database = database
        self._interval_s = interval_s
        self._documents = documents
        self._tombstone_age_s = tombstone_age_s

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; retry while the database is away."""
        while not stop.is_set():
            is_full = False
            try:
                is_full = await self.expire_once()
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                log_fault(_log, "receiver.expiry.failed", error, retry_in_s=self._interval_s)
            if not is_full:
                await wait_for_event(stop, self._interval_s)

    async def expire_once(self) -> bool:
        """Take one batch of each kind; return whether a batch was full, so that more may be due."""
        async with self._database.transaction() as tx:
            expired = await registry.expire_documents(tx, self._documents)
        async with self._database.transaction() as tx:
            forgotten = await registry.delete_tombstones(tx, age_s=self._tombstone_age_s, limit=self._documents)
        if expired or forgotten:
            _log.info("receiver.documents.expired", expired=expired, forgotten=forgotten)
        return max(expired, forgotten) >= self._documents

    async def backlog(self) -> Mapping[str, int]:
        """Return how many documents are due, at most 10,000."""
        async with self._database.connection() as connection:
            return {"expired": await registry.count_expired(connection, _COUNTED_AT_MOST)}

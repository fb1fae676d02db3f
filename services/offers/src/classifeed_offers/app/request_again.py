"""Requester: requests again what has not come, whatever was lost on the way."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

import structlog

from classifeed_common.db import Database, Tx, is_passing_fault
from classifeed_common.kafka import Message
from classifeed_common.outbox import Outbox
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.waiting import wait_for_event
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying

_ROWS: Final = 1000
_log = structlog.get_logger(__name__)


class Requester(ABC):
    """Requests again what offers have waited for longer than `wait_s`; the response comes out of what is stored.

    A subclass says what is awaited.
    """

    WHAT: ClassVar[str]
    """What is awaited, as the backlog and the log name it."""

    def __init__(self, database: Database, outbox: Outbox, *, wait_s: float, period_s: float) -> None:
        self._database = database
        self._outbox = outbox
        self._wait_s = wait_s
        self._period_s = period_s

    @abstractmethod
    async def find(self, tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
        """Return offers that have waited for longer than `wait_s`, by namespace."""

    @abstractmethod
    async def request(
        self, tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float
    ) -> list[Message]:
        """Note that those that still wait are requested again, and return the requests. The caller holds the head."""

    @abstractmethod
    async def count(self, tx: Tx) -> int:
        """Return how many offers wait, and show it."""

    async def run(self, stop: asyncio.Event) -> None:
        """Look every `period_s` until `stop`."""
        while not stop.is_set():
            try:
                while await self.round() and not stop.is_set():
                    pass
                await self.backlog()
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                log_fault(_log, "offers.awaited.not_requested", error, what=self.WHAT, retry_in_s=self._period_s)
            await wait_for_event(stop, self._period_s)

    async def round(self) -> bool:
        """Request the next ones; return whether more may wait."""
        async with self._database.connection() as connection:
            found = await self.find(connection, wait_s=self._wait_s, limit=_ROWS)
        for namespace, external_ids in found.items():
            async with self._database.transaction() as tx:
                await applying.lock_heads(tx, {namespace})
                await self._outbox.put(tx, await self.request(tx, namespace, external_ids, wait_s=self._wait_s))
            self._outbox.wake()
        return sum(map(len, found.values())) == _ROWS

    async def backlog(self) -> dict[str, int]:
        """Return how many offers wait."""
        async with self._database.transaction() as tx:
            return {f"{self.WHAT}_waiting": await self.count(tx)}

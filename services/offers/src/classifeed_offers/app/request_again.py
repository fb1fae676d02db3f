"""Requester: repeats requests without a response, regardless of where the request or the response was lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from classifeed_common.db import Database, Tx
from classifeed_common.kafka import Message
from classifeed_common.loops import Loop, Looping
from classifeed_common.outbox import Outbox
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying

_ROWS: Final = 1000


class Requester(Looping, ABC):
    """Repeats requests of offers that have waited longer than `wait_s`, from the stored offers.

    A subclass defines what is awaited.
    """

    WHAT: ClassVar[str]
    """Name of the awaited thing in the backlog and the log."""

    def __init__(self, database: Database, outbox: Outbox, *, wait_s: float, period_s: float) -> None:
        self._database = database
        self._outbox = outbox
        self._wait_s = wait_s
        self.loop = Loop(
            self._request_all,
            period_s=period_s,
            name=f"requests of {self.WHAT}",
            doing=f"requesting {self.WHAT} again",
            effect="Offers whose request or response was lost wait",
        )

    @abstractmethod
    async def find(self, tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
        """Return offers that have waited for longer than `wait_s`, by namespace."""

    @abstractmethod
    async def request(
        self, tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float
    ) -> list[Message]:
        """Record that still waiting offers are requested again, and return the requests. The caller holds the head."""

    @abstractmethod
    async def count(self, tx: Tx) -> int:
        """Return the number of waiting offers, and set the metric."""

    async def round(self) -> bool:
        """Request the next offers; return whether more may wait."""
        async with self._database.connection() as connection:
            found = await self.find(connection, wait_s=self._wait_s, limit=_ROWS)
        for namespace, external_ids in found.items():
            async with self._database.transaction() as tx:
                await applying.lock_heads(tx, {namespace})
                await self._outbox.put(tx, await self.request(tx, namespace, external_ids, wait_s=self._wait_s))
            self._outbox.wake()
        return sum(map(len, found.values())) == _ROWS

    async def _request_all(self) -> bool:
        is_more = await self.round()
        if not is_more:
            await self.backlog()
        return is_more

    async def backlog(self) -> dict[str, int]:
        """Return the number of waiting offers."""
        async with self._database.transaction() as tx:
            return {f"{self.WHAT}_waiting": await self.count(tx)}

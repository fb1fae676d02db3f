"""Publish offers once more, all of them or a seller's: their marks are set back, and the pusher does the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import structlog

from classifeed_common.db import Database, Tx
from classifeed_offers.metrics import REPUBLICATIONS
from classifeed_offers.store import publishing, republishing
from classifeed_offers.store.republishing import Scope

_log = structlog.get_logger(__name__)


class ResetJobs(Protocol):
    """Starts the job that sets the marks back, once the transaction commits."""

    async def start(self, tx: Tx, republication_id: int, scope: Scope) -> None:
        """Enqueue the job in the caller's transaction."""
        ...


class Republisher:
    """Begins republications.

    Args:
        db: where the offers are.
        jobs: sets the marks back, slice by slice.
        restart: `MarkPusher.restart`: in the same transaction, so that no push from before moves a mark afterwards.
    """

    def __init__(self, database: Database, jobs: ResetJobs, restart: Callable[[Tx], Awaitable[None]]) -> None:
        self._database = database
        self._jobs = jobs
        self._restart = restart

    async def begin_after_loss(self, lost: tuple[int, int], ends: Mapping[int, int]) -> None:
        """Publish everything once more: the receiver lost what it had acknowledged. Once for each loss.

        Args:
            lost: shard and index of an element that the receiver does not have; nothing happens when it is not the one
                that is known any more.
            ends: where the receiver's queues end, known from now on.
        """
        shard, idx = lost
        async with self._database.transaction() as tx:
            if (await publishing.select_positions(tx)).get(shard) != idx:
                return
            await self._restart(tx)  # first, so that nobody else writes positions or begins
            if await publishing.forget_positions(tx, shard, idx):
                await publishing.write_positions(tx, ends)
                reason = "the receiver's database was restored from an older backup"
                await self._begin(tx, "receiver went back", reason, Scope())

    async def begin_after_own_loss(self, known: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Publish everything once more: the receiver has what this table knows nothing of.

        Args:
            known: what it was compared with; nothing happens when that has changed.
            ends: where the receiver's queues end, known from now on.
        """
        async with self._database.transaction() as tx:
            await self._restart(tx)
            if await publishing.select_positions(tx) == known:
                await publishing.write_positions(tx, ends)
                reason = "the database of offers was restored from an older backup"
                await self._begin(tx, "offers went back", reason, Scope())

    async def request(self, scope: Scope, request_id: str | None) -> int | None:
        """Publish the offers of a scope once more, for an operator; return its number, None for a repeated request."""
        async with self._database.transaction() as tx:
            await self._restart(tx)
            return await self._begin(tx, "operator", "an operator asked for it", scope, request_id)

    async def _begin(self, tx: Tx, cause: str, reason: str, scope: Scope, request_id: str | None = None) -> int | None:
        number = await republishing.insert_request(tx, reason, scope, request_id)
        if number is None:
            return None
        await self._jobs.start(tx, number, scope)
        REPUBLICATIONS.labels(cause).inc()
        _log.warning("offers.republication.begun", number=number, reason=reason, scope=scope)
        return number

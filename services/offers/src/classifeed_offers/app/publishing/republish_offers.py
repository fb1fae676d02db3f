"""Publish all offers, or those of a seller, again: a job resets their marks, and the pusher pushes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import structlog

from classifeed_common.db import Database, Tx
from classifeed_domain.publishing import Loss
from classifeed_offers.metrics import REPUBLICATIONS
from classifeed_offers.store import republishing
from classifeed_offers.store.republishing import Scope

_log = structlog.get_logger(__name__)
_CAUSES: Final = {Loss.RECEIVER: "receiver went back", Loss.OWN: "offers went back"}
_REASONS: Final = {
    Loss.RECEIVER: str(Loss.RECEIVER),
    Loss.OWN: "the database of offers was restored from an older backup",
}


class ResetJobs(Protocol):
    """Starts the job that resets the marks, once the transaction commits."""

    async def start(self, tx: Tx, republication_id: int, scope: Scope) -> None:
        """Enqueue the job in the caller's transaction."""
        ...


class Republisher:
    """Begins republications.

    Args:
        database: database of the offers.
        jobs: starts the job that resets the marks slice by slice.
        restart: `MarkPusher.restart`, called in the same transaction, so that an earlier push moves no mark afterwards.
    """

    def __init__(self, database: Database, jobs: ResetJobs, restart: Callable[[Tx], Awaitable[None]]) -> None:
        self._database = database
        self._jobs = jobs
        self._restart = restart

    async def restart(self, tx: Tx) -> None:
        """Make sure that no push already under way moves a mark after `tx` commits."""
        await self._restart(tx)

    async def begin_after(self, tx: Tx, loss: Loss) -> None:
        """Publish everything again, because one side has lost data."""
        await self._begin(tx, _CAUSES[loss], _REASONS[loss], Scope())

    async def request(self, scope: Scope, request_id: str | None) -> int | None:
        """Publish a scope again for an operator; return the republication's number, or None for a repeated request."""
        async with self._database.transaction() as tx:
            await self._restart(tx)
            return await self._begin(tx, "operator", "requested by an operator", scope, request_id)

    async def _begin(self, tx: Tx, cause: str, reason: str, scope: Scope, request_id: str | None = None) -> int | None:
        number = await republishing.insert_request(tx, reason, scope, request_id)
        if number is None:
            return None
        await self._jobs.start(tx, number, scope)
        REPUBLICATIONS.labels(cause).inc()
        _log.warning("offers.republication.begun", number=number, reason=reason, scope=scope)
        return number

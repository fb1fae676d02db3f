"""Refill shards: the receiver puts their documents into the queue `emergency`, which is read together with `main`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import structlog

from classifeed_common.clock import Clock
from classifeed_common.errors import FailedPrecondition
from classifeed_common.lease import Lease
from classifeed_common.loops import Loop, Looping
from classifeed_indexer.app.raise_unforeseen import raise_unforeseen
from classifeed_indexer.app.reposition_shard import lost_queue
from classifeed_indexer.clients.receiver import QueueEnds, ReceiverClient
from classifeed_indexer.domain.shards import EMERGENCY, ShardQueue
from classifeed_indexer.metrics import REFILLED
from classifeed_indexer.store.refills import Refill, Refills

_log = structlog.get_logger(__name__)

_POLL_S: Final = 1.0
_STEP_DOCUMENTS: Final = 1000


class HeldShards(Protocol):
    """The shards that this process delivers; Deliverer implements it."""

    @property
    def leases(self) -> Mapping[int, Lease]:
        """The lease of each shard held."""

    def delivered(self, key: ShardQueue) -> int:
        """Return the index of the last delivered element of a queue; 0: none."""


class ShardRefiller(Looping):
    """Works on the refills of the shards that this process holds, a step of each in turn.

    The next step of a shard waits until the elements of its previous step are delivered, so the queue holds at most one
    step of a shard. The position of a refill is stored after each step; the next holder of the shard continues from it.
    """

    def __init__(
        self,
        receiver: ReceiverClient,
        refills: Refills,
        held: HeldShards,
        clock: Clock,
        *,
        step_documents: int = _STEP_DOCUMENTS,
    ) -> None:
        self._receiver = receiver
        self._refills = refills
        self._held = held
        self._step_documents = step_documents
        self._known: Mapping[int, Refill] = {}
        self.loop = Loop(
            self._refill,
            period_s=_POLL_S,
            name=f"{receiver.client} refill",
            doing="refilling",
            effect="Shards that lost documents wait",
            on_fault=raise_unforeseen,
            event="indexer.refill.waits",
            clock=clock,
        )

    async def step_once(self) -> bool:
        """Do a step of each refill that is due; return whether there was one.

        Raises:
            DomainError, psycopg.Error: the receiver or the database is unavailable.
        """
        self._known = await self._refills.list_refills()
        waiting: list[Refill] = []
        has_stepped = False
        for shard, refill in self._known.items():
            lease = self._held.leases.get(shard)
            if lease is None:
                continue
            if self._held.delivered(ShardQueue(EMERGENCY, shard)) < refill.last_idx:
                waiting.append(refill)
            elif refill.is_scanned:
                if await self._refills.finish(refill, lease):
                    _log.info(
                        "indexer.refill.finished",
                        client=self._receiver.client,
                        shard=shard,
                        documents=refill.documents,
                    )
            else:
                await self._step(refill, lease)
                has_stepped = True
        if waiting and not has_stepped:
            await self._check(waiting)
        return has_stepped

    def blocked(self) -> Mapping[str, str]:
        """Return one line about the refills of this process with their reasons, and one about a lasting fault."""
        client = self._receiver.client
        fault = self.loop.blocked()
        mine = [refill for shard, refill in self._known.items() if shard in self._held.leases]
        if not mine:
            return fault
        reasons = ", ".join(sorted({refill.reason.split(" at ")[0] for refill in mine}))
        documents = sum(refill.documents for refill in mine)
        line = (
            f"{len(mine)} shards are being refilled from the registry ({reasons}), {documents} documents so far; "
            "until then the search may show older documents of them. No action is needed"
        )
        return {client: line, **fault}

    async def _refill(self) -> float:
        return _POLL_S / 20 if await self.step_once() else _POLL_S

    async def _step(self, refill: Refill, lease: Lease) -> None:
        try:
            step = await self._receiver.refill(refill.shard, refill.after, refill.last_idx, limit=self._step_documents)
        except FailedPrecondition as error:
            if lost_queue(error) is None:
                raise
            await self._begin_anew(refill, error.message)
            return
        if await self._refills.advance(refill, step, lease):
            REFILLED.labels(self._receiver.client).inc(step.documents)

    async def _check(self, waiting: list[Refill]) -> None:
        """Restart refills whose elements the receiver lost before they were delivered."""
        ends = await self._receiver.list_ends("")
        for refill in waiting:
            last_idx = ends.get(ShardQueue(EMERGENCY, refill.shard), QueueEnds()).last_idx
            if last_idx < refill.last_idx:
                await self._begin_anew(refill, f"the queue ends at {last_idx}, before {refill.last_idx}")

    async def _begin_anew(self, refill: Refill, why: str) -> None:
        _log.warning("indexer.refill.begins.anew", client=self._receiver.client, shard=refill.shard, why=why)
        await self._refills.request([refill.shard], refill.reason)

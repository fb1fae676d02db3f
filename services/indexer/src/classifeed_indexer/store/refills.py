"""Reads and writes of the refills: shards to refill from the registry, and the progress of each refill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.lease import Lease
from classifeed_indexer.domain.refilling import RefillStep, RegistryPosition
from classifeed_indexer.store.holding import hold_leases

_SQL: Final = load_queries(__package__, "refills.sql")


@dataclass(frozen=True, slots=True)
class Refill:
    """A refill of a shard.

    Attributes:
        shard: number of the shard.
        reason: reason of the refill, for people.
        requested_at: time of the request; together with the shard it identifies the request.
        after: position in the registry up to which it was read; None: not begun.
        last_idx: index of the last element that the refill put into the queue `emergency`; 0: none yet.
        documents: number of documents that the refill put there.
        is_scanned: whether the registry was read to the end.
    """

    shard: int
    reason: str
    requested_at: datetime
    after: RegistryPosition | None
    last_idx: int
    documents: int
    is_scanned: bool


class Refills:
    """The refills of one group and client. A write about a refill is guarded by the lease of its shard."""

    def __init__(self, database: Database, group: str, client: str) -> None:
        self._database = database
        self._key = {"group": group, "client": client}

    async def list_refills(self) -> dict[int, Refill]:
        """Return all refills by shard."""
        async with self._database.connection() as connection:
            rows = await (await connection.execute(_SQL["list_refills"], self._key)).fetchall()
        return {
            row[0]: Refill(
                row[0], row[1], row[2], None if row[3] is None else RegistryPosition(row[3], row[4]), *row[5:]
            )
            for row in rows
        }

    async def request(self, shards: Sequence[int], reason: str) -> None:
        """Request a refill of shards; a refill in progress is restarted."""
        async with self._database.transaction() as tx:
            await self.request_in(tx, shards, reason)

    async def request_in(self, tx: Tx, shards: Sequence[int], reason: str) -> None:
        """`request` inside a transaction of the caller."""
        await tx.execute(_SQL["request_refills"], {**self._key, "shards": list(shards), "reason": reason})

    async def advance(self, refill: Refill, step: RefillStep, lease: Lease) -> bool:
        """Store a step; return False, without a write, if the lease is lost or the refill was requested again."""
        return await self._write(
            "advance_refill",
            refill,
            lease,
            after_hash=step.next.pk_hash if step.next else None,
            after_pk=step.next.pk if step.next else None,
            last_idx=step.last_idx,
            documents=step.documents,
            is_scanned=step.next is None,
        )

    async def finish(self, refill: Refill, lease: Lease) -> bool:
        """Delete a refill whose elements are delivered; return False as `advance` does."""
        return await self._write("finish_refill", refill, lease)

    async def _write(self, name: str, refill: Refill, lease: Lease, **values: object) -> bool:
        parameters = {**self._key, "shard": refill.shard, "requested_at": refill.requested_at, **values}
        async with self._database.transaction() as tx:
            if not await hold_leases(tx, {refill.shard: lease}):
                return False
            return (await tx.execute(_SQL[name], parameters)).rowcount > 0

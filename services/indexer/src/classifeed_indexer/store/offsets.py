"""Reads and writes of the offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.lease import Lease
from classifeed_indexer.domain.shards import QUEUES, ShardQueue, lease_name
from classifeed_indexer.store.holding import hold_leases
from classifeed_indexer.store.refills import Refills

_SQL: Final = load_queries(__package__, "offsets.sql")


@dataclass(frozen=True, slots=True)
class Move:
    """Request to move an offset from `expected` to `idx`."""

    key: ShardQueue
    expected: int
    idx: int


@dataclass(frozen=True, slots=True)
class Moved:
    """Outcome of some moves: the shards that we still held, and the offsets that moved."""

    held: frozenset[int]
    moved: frozenset[ShardQueue]


class Offsets:
    """The offsets of one group and client, and the refills that lost offsets cause."""

    def __init__(self, database: Database, group: str, client: str) -> None:
        self._database = database
        self._group = group
        self._client = client
        self.refills = Refills(database, group, client)

    async def add(self, shard: int) -> dict[ShardQueue, int]:
        """Return the offsets of a shard; those of a new group begin at 0."""
        parameters = {"group": self._group, "client": self._client, "shard": shard, "queues": list(QUEUES)}
        async with self._database.transaction() as tx:
            await tx.execute(_SQL["add_offsets"], parameters)
            offsets = await self._list(tx)
        return {key: idx for key, idx in offsets.items() if key.shard == shard}

    async def list_offsets(self) -> dict[ShardQueue, int]:
        """Return all offsets."""
        async with self._database.connection() as connection:
            return await self._list(connection)

    async def move(self, moves: Sequence[Move], leases: Mapping[int, Lease]) -> Moved:
        """Move the offsets of held shards from their expected values to new ones, in one transaction.

        A lost lease or an unexpected offset only affects its own shard; the other offsets move.

        Args:
            moves: offsets to move.
            leases: leases by shard.
        """
        async with self._database.transaction() as tx:
            held = await hold_leases(tx, leases)
            ours = [move for move in moves if move.key.shard in held]
            cursor = await tx.execute(
                _SQL["move_offsets"],
                {
                    "group": self._group,
                    "client": self._client,
                    "queues": [move.key.queue for move in ours],
                    "shards": [move.key.shard for move in ours],
                    "expected": [move.expected for move in ours],
                    "idxs": [move.idx for move in ours],
                },
            )
            moved = frozenset(ShardQueue(queue, shard) for queue, shard in await cursor.fetchall())
        return Moved(held, moved)

    async def reposition(self, key: ShardQueue, expected: int, idx: int, lease: Lease, *, refill: str | None) -> bool:
        """Set an offset to where its queue continues, and request a refill of the shard, in one transaction.

        Args:
            key: queue whose offset is set.
            expected: offset as it was read before.
            idx: new offset; it may be lower.
            lease: lease of the shard.
            refill: reason of the refill; None: no refill is needed.

        Returns:
            Whether the lease was still held and the offset had its expected value.
        """
        async with self._database.transaction() as tx:
            if not await hold_leases(tx, {key.shard: lease}):
                return False
            parameters = {
                "group": self._group,
                "client": self._client,
                "queue": key.queue,
                "shard": key.shard,
                "expected": expected,
                "idx": idx,
            }
            if (await tx.execute(_SQL["reposition"], parameters)).rowcount == 0:
                return False
            if refill is not None:
                await self.refills.request_in(tx, [key.shard], refill)
            return True

    async def list_holders(self, shards: Sequence[int]) -> dict[int, Lease]:
        """Return the unexpired leases by shard."""
        names = {lease_name(self._group, self._client, shard): shard for shard in shards}
        async with self._database.connection() as connection:
            rows = await (await connection.execute(_SQL["list_holders"], {"names": list(names)})).fetchall()
        return {names[name]: Lease(name, holder, fence) for name, holder, fence in rows}

    async def _list(self, tx: Tx) -> dict[ShardQueue, int]:
        cursor = await tx.execute(_SQL["list_offsets"], {"group": self._group, "client": self._client})
        return {ShardQueue(queue, shard): idx for queue, shard, idx in await cursor.fetchall()}

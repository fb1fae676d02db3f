"""A shard changes hands between two writes of its offsets, never within one."""

from __future__ import annotations

import asyncio

from classifeed_common.db import Database
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_indexer.domain.shards import ShardQueue
from classifeed_indexer.store.offsets import Move

from ..conftest import MakeIndexer

MAIN = 1


async def test_nobody_takes_a_shard_over_while_its_offsets_are_being_moved(
    indexer_database: Database, make_indexer: MakeIndexer
) -> None:
    """The lease expires within the transaction: a successor that came now would read old offsets."""
    late, heir = make_indexer("late"), make_indexer("heir")
    [lease] = await late.take(1)
    key = ShardQueue(MAIN, 1)
    async with indexer_database.transaction() as pause:
        await pause.execute("SELECT FROM offsets FOR UPDATE")
        moving = asyncio.create_task(late.offsets.move([Move(key, 0, 5)], {1: lease}))
        assert await comes_to_wait(moving, indexer_database, behind=pause)  # it holds its leases now
        async with indexer_database.connection() as connection:
            await connection.execute("UPDATE leases SET expires_at = clock_timestamp()")
        assert await heir.leases.acquire(lease.name) is None
    assert (await moving).moved == {key}
    await heir.take(1)
    assert await heir.stored_offsets() == {1: 5}

"""A shard changes hands between two writes of its offsets, never within one."""

from __future__ import annotations

import asyncio

from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_indexer.domain.shards import ShardQueue
from classifeed_indexer.store.offsets import Move

from .conftest import Scene

MAIN = 1


async def test_nobody_takes_a_shard_over_while_its_offsets_are_being_moved(scene: Scene) -> None:
    """The lease expires within the transaction: a successor that came now would read old offsets."""
    late, heir = scene.indexer("late"), scene.indexer("heir")
    [lease] = await late.take(1)
    key = ShardQueue(MAIN, 1)
    async with scene.database.transaction() as pause:
        await pause.execute("SELECT FROM offsets FOR UPDATE")
        moving = asyncio.create_task(late.offsets.move([Move(key, 0, 5)], {1: lease}))
        assert await comes_to_wait(moving, scene.database, behind=pause)  # it holds its leases now
        await scene.expire_leases()
        assert await heir.leases.acquire(lease.name) is None
    assert (await moving).moved == {key}
    await heir.take(1)
    assert await heir.stored_offsets() == {1: 5}

"""Refill a shard: put its documents into the queue `emergency`, step by step."""

from __future__ import annotations

from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_EMERGENCY
from classifeed_common.db import Database
from classifeed_receiver.domain.cursors import ShardKey, unknown_cursor
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.store import queues
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.queues import RefillStep


async def refill_shard(
    database: Database,
    signal: CommitSignal,
    client: str,
    shard: int,
    *,
    after: RegistryPosition | None,
    last_idx: int,
    limit: int,
) -> RefillStep | None:
    """Append the next documents of a shard, live ones and tombstones; return None when no document is left.

    A repeated step delivers its documents again, which does not change the index.

    Args:
        database: database with registry and queues.
        signal: signal that wakes waiting readers of this process.
        client: client of the shard.
        shard: number of the shard.
        after: position at which the previous step ended; None: this is the first step.
        last_idx: index of the last element that earlier steps appended; 0: none.
        limit: maximum number of documents.

    Raises:
        FailedPrecondition: CURSOR_UNKNOWN, a restore removed the elements of the previous step. Restart the refill.
    """
    key = ShardKey(int(INDEX_QUEUE_EMERGENCY), shard)
    async with database.connection() as connection:
        for unknown in await queues.list_unknown_cursors(connection, client, [(key, last_idx)]):
            raise unknown_cursor(client, key, last_idx, unknown.ends)
        step = await queues.refill(connection, client, shard, after or RegistryPosition.begin_of(shard), limit)
    if step is not None:
        signal.notify(client)
    return step

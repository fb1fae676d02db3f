"""Refill a shard: put its documents into the queue `emergency` once more, step by step."""

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

    A step that is repeated delivers its documents once more, which changes nothing.

    Args:
        database: where registry and queues are.
        signal: notifies waiting readers of this process.
        client: whose shard.
        shard: which.
        after: where the step before ended; None: this is the first.
        last_idx: index of the last element that the steps before appended, 0 where there is none.
        limit: documents at most.

    Raises:
        FailedPrecondition: CURSOR_UNKNOWN, the elements of the step before are gone (a restore): begin anew.
    """
    key = ShardKey(int(INDEX_QUEUE_EMERGENCY), shard)
    async with database.connection() as connection:
        for unknown in await queues.select_unknown_cursors(connection, client, [(key, last_idx)]):
            raise unknown_cursor(client, key, last_idx, unknown.ends)
        step = await queues.refill(connection, client, shard, after or RegistryPosition.begin_of(shard), limit)
    if step is not None:
        signal.notify(client)
    return step

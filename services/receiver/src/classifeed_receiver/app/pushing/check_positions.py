"""Check that the queues still have what a client was acknowledged; if not, the database was restored from a backup."""

from __future__ import annotations

from collections.abc import Collection

from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN
from classifeed_common.db import Tx
from classifeed_common.errors import FailedPrecondition
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.documents import ShardPosition
from classifeed_receiver.store import queues

_MAIN = int(INDEX_QUEUE_MAIN)


async def check_positions(tx: Tx, client: str, known: Collection[ShardPosition]) -> None:
    """Check that every position is an element of the queue, or was trimmed.

    Call it in the session that writes the pushed documents. A restore or a failover ends the session, so neither can
    happen between the check and the write.

    Raises:
        FailedPrecondition: REGISTRY_WENT_BACK; the metadata has the first unknown position and the end of its queue.
    """
    if not known:
        return
    cursors = [(ShardKey(_MAIN, position.shard), position.idx) for position in known]
    for unknown in await queues.list_unknown_cursors(tx, client, cursors):
        raise FailedPrecondition(
            "REGISTRY_WENT_BACK",
            f"{client} was acknowledged element {unknown.idx} of shard {unknown.key.shard}, which the queue does not "
            f"have; it ends at {unknown.ends.last_idx}. The receiver's database was restored from an older backup, so "
            "documents pushed since are lost. Push all documents of the client again, without these positions.",
            metadata={
                "client": client,
                "shard": str(unknown.key.shard),
                "idx": str(unknown.idx),
                "last_idx": str(unknown.ends.last_idx),
            },
        )


async def list_positions(tx: Tx, client: str) -> list[ShardPosition]:
    """Return the ends of the client's queue `main`, one for each shard."""
    ends = await queues.list_shards(tx, client)
    return [ShardPosition(key.shard, end.last_idx) for key, end in ends.items() if key.queue == _MAIN]

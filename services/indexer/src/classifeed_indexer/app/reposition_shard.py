"""Continue a shard whose cursor was lost: move its offset to a valid position, and request a refill if needed."""

from __future__ import annotations

from typing import Final

import structlog

from classifeed.documents.v1.index_queue_service_pb2 import IndexQueue
from classifeed_common.enum_names import name_of
from classifeed_common.errors import FailedPrecondition
from classifeed_common.lease import Lease
from classifeed_indexer.clients.receiver import QueueEnds, ReceiverClient
from classifeed_indexer.domain.shards import ShardQueue
from classifeed_indexer.metrics import LOST_CURSORS
from classifeed_indexer.store.offsets import Offsets

_log = structlog.get_logger(__name__)

CURSOR_TRIMMED: Final = "CURSOR_TRIMMED"
CURSOR_UNKNOWN: Final = "CURSOR_UNKNOWN"


def lost_queue(error: FailedPrecondition) -> ShardQueue | None:
    """Return the queue whose cursor the receiver reports as lost; None: the error has another reason."""
    if error.reason not in {CURSOR_TRIMMED, CURSOR_UNKNOWN}:
        return None
    return ShardQueue(int(error.metadata["queue"]), int(error.metadata["shard"]))


async def reposition_shard(
    receiver: ReceiverClient, offsets: Offsets, group: str, error: FailedPrecondition, cursor: int, lease: Lease
) -> int | None:
    """Move the offset to where its queue continues, and return it; None if the lease or the offset changed meanwhile.

    If this group has reported the trimmed elements as delivered, only our own table went back, and no refill is needed.
    Otherwise the transaction that moves the offset also requests a refill of the shard, so that neither is lost.

    Args:
        receiver: client of the receiver.
        offsets: offsets of the group.
        group: group whose progress is read from the receiver.
        error: error about a lost cursor (`lost_queue`).
        cursor: index of the lost cursor.
        lease: lease of the shard.

    Raises:
        DomainError: the receiver is unavailable.
    """
    key = lost_queue(error)
    assert key is not None
    ends = (await receiver.list_ends(group)).get(key, QueueEnds())
    if error.reason == CURSOR_TRIMMED:
        idx, is_delivered = ends.trimmed_idx, ends.delivered_idx >= ends.trimmed_idx
    else:
        # Documents pushed since the restore are in the registry, too, and the refill reads it later than this.
        idx, is_delivered = ends.last_idx, False
    reason = None if is_delivered else f"{error.reason} at {cursor}"
    if not await offsets.reposition(key, cursor, idx, lease, refill=reason):
        return None
    LOST_CURSORS.labels(receiver.client, error.reason).inc()
    _log.warning(
        "indexer.cursor.lost",
        client=receiver.client,
        queue=name_of(IndexQueue, key.queue),
        shard=key.shard,
        cursor=cursor,
        goes_on_at=idx,
        is_refilled=not is_delivered,
        why=error.message,
    )
    return idx

"""Go on with a shard whose cursor was lost: where its queue goes on, and with the shard filled again if needed."""

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
    """Return which queue of which shard the receiver no longer has our cursor of; None: it is another error."""
    if error.reason not in {CURSOR_TRIMMED, CURSOR_UNKNOWN}:
        return None
    return ShardQueue(int(error.metadata["queue"]), int(error.metadata["shard"]))


async def reposition_shard(
    receiver: ReceiverClient, offsets: Offsets, group: str, error: FailedPrecondition, cursor: int, lease: Lease
) -> int | None:
    """Move the offset to where its queue goes on, and return that; None when it was moved or taken meanwhile.

    Trimmed elements that this group has reported as delivered need nothing more: our own table went back. Otherwise the
    refill of the shard is requested, in the transaction that moves the offset, so that neither is lost.

    Args:
        receiver: whose queues.
        offsets: of the group.
        group: for its progress at the receiver.
        error: of a lost cursor (`lost_queue`).
        cursor: the lost one.
        lease: of the shard.

    Raises:
        DomainError: the receiver is away.
    """
    key = lost_queue(error)
    assert key is not None
    ends = (await receiver.get_ends(group)).get(key, QueueEnds())
    if error.reason == CURSOR_TRIMMED:
        idx, is_delivered = ends.trimmed_idx, ends.delivered_idx >= ends.trimmed_idx
    else:
        # What was pushed since the restore is in the registry as well, which the refill reads after this.
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

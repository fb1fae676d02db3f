"""Measure what the receiver's queues hold that the group has not delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from classifeed_indexer.clients.receiver import Receiver
from classifeed_indexer.domain.shards import QUEUES, SHARDS, ShardQueue
from classifeed_indexer.store.offsets import Offsets


async def measure_backlog(clients: Sequence[tuple[Receiver, Offsets]]) -> Mapping[str, int]:
    """Returns, by client, in how many queues of shards something waits: 0 exactly when everything is delivered.

    Raises:
        DomainError: the receiver does not answer, so nothing is known.
    """
    found = {}
    for receiver, offsets in clients:
        stored = await offsets.select()
        cursors = {key: stored.get(key, 0) for q in QUEUES for key in (ShardQueue(q, s) for s in range(SHARDS))}
        found[receiver.client] = len((await receiver.read(cursors, limit=1, wait_s=0)).next)
    return found

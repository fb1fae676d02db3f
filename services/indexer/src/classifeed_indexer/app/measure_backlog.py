"""Measure the group's backlog: elements of the receiver's queues that it has not delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from classifeed_indexer.clients.receiver import ReceiverClient
from classifeed_indexer.domain.shards import QUEUES
from classifeed_indexer.store.offsets import Offsets


async def measure_backlog(clients: Sequence[tuple[ReceiverClient, Offsets]], group: str) -> Mapping[str, int]:
    """Return, by client, the number of queues with waiting elements, and the number of shards being refilled.

    Both are 0 exactly when everything is delivered: a lost cursor counts as a waiting queue.

    Raises:
        DomainError: the receiver is unavailable, so the backlog is unknown.
    """
    found = {}
    for receiver, offsets in clients:
        ends = await receiver.list_ends(group)
        stored = await offsets.list_offsets()  # after the ends, so that elements delivered meanwhile do not count
        keys = {key for key in ends.keys() | stored.keys() if key.queue in QUEUES}
        waiting = [key for key in keys if stored.get(key, 0) != (ends[key].last_idx if key in ends else 0)]
        found[receiver.client] = len(waiting)
        found[f"{receiver.client}_refills"] = len(await offsets.refills.list_refills())
    return found

"""Measure what the receiver's queues hold that the group has not delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from classifeed_indexer.clients.receiver import ReceiverClient
from classifeed_indexer.domain.shards import QUEUES
from classifeed_indexer.store.offsets import Offsets


async def measure_backlog(clients: Sequence[tuple[ReceiverClient, Offsets]], group: str) -> Mapping[str, int]:
    """Return, by client, in how many queues of shards something waits, and how many shards are being filled again.

    0 exactly when everything is delivered: a cursor that its queue no longer has counts as waiting.

    Raises:
        DomainError: the receiver is away, so nothing is known.
    """
    found = {}
    for receiver, offsets in clients:
        ends = await receiver.get_ends(group)
        stored = await offsets.select()  # after the ends, so that what is delivered meanwhile does not count
        keys = {key for key in ends.keys() | stored.keys() if key.queue in QUEUES}
        waiting = [key for key in keys if stored.get(key, 0) != (ends[key].last_idx if key in ends else 0)]
        found[receiver.client] = len(waiting)
        found[f"{receiver.client}_refills"] = len(await offsets.refills.select())
    return found

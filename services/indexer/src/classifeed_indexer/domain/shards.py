"""Shards of the clients' queues, and the names of their leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_EMERGENCY, INDEX_QUEUE_MAIN
from classifeed_domain.document_shards import SHARDS

MAIN: Final = int(INDEX_QUEUE_MAIN)
EMERGENCY: Final = int(INDEX_QUEUE_EMERGENCY)
# Read in parallel, so that a refill does not delay live traffic. Add the queue `failed` once it is replayed.
QUEUES: Final = (MAIN, EMERGENCY)


class ShardQueue(NamedTuple):
    """One queue of one shard."""

    queue: int
    shard: int


def lease_name(group: str, client: str, shard: int) -> str:
    """Return the name of the lease for a shard: one lease covers all its queues."""
    return f"{group}/{client}/{shard:02d}"


def parse_lease_name(name: str) -> tuple[str, int]:
    """Return client and shard of a lease's name."""
    _, client, shard = name.rsplit("/", 2)
    return client, int(shard)


def lease_names(group: str, clients: Sequence[str]) -> list[str]:
    """Return the names of all leases of a group."""
    return [lease_name(group, client, shard) for client in clients for shard in range(SHARDS)]

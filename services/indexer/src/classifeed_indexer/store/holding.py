"""The guard of every write under leases of shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.lease import Lease

_HOLD_LEASES: Final = load_queries(__package__)["hold_leases"]


async def hold_leases(tx: Tx, leases: Mapping[int, Lease]) -> frozenset[int]:
    """Return the shards whose leases are still ours; nobody takes one of them over until the transaction ends.

    First in its transaction, as `Leases.guard`, for any number of leases at once.

    Args:
        tx: an open transaction.
        leases: the lease of each shard, by shard.
    """
    shard_of = {lease.name: shard for shard, lease in leases.items()}
    cursor = await tx.execute(
        _HOLD_LEASES,
        {
            "names": [lease.name for lease in leases.values()],
            "holders": [lease.holder for lease in leases.values()],
            "fences": [lease.fence for lease in leases.values()],
        },
    )
    return frozenset(shard_of[name] for (name,) in await cursor.fetchall())

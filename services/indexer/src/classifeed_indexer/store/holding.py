"""Guard of every write that needs leases of shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.lease import Lease

_SQL: Final = load_queries(__package__, "holding.sql")


async def hold_leases(tx: Tx, leases: Mapping[int, Lease]) -> frozenset[int]:
    """Return the shards whose leases this process still holds, and lock those leases until the transaction ends.

    Call it first in the transaction. It does for many leases what `Leases.guard` does for one.

    Args:
        tx: an open transaction.
        leases: leases by shard.
    """
    shard_of = {lease.name: shard for shard, lease in leases.items()}
    cursor = await tx.execute(
        _SQL["hold_leases"],
        {
            "names": [lease.name for lease in leases.values()],
            "holders": [lease.holder for lease in leases.values()],
            "fences": [lease.fence for lease in leases.values()],
        },
    )
    return frozenset(shard_of[name] for (name,) in await cursor.fetchall())

"""Hold this process's share of the shards and deliver them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from classifeed_common.lease import Lease, LeaseKeeper, Leases
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.domain.shards import lease_names, parse_lease_name


class ShardHolder:
    """Joins the leases of all clients' shards with the deliverers of the clients.

    The archive's role, a second group on the same queues, is another holder with another group.
    """

    def __init__(self, leases: Leases, deliverers: Mapping[str, Deliverer], *, group: str) -> None:
        self._deliverers = deliverers
        self._keeper = LeaseKeeper(
            leases, lease_names(group, list(deliverers)), on_gain=self._gain, on_loss=self._lose, group=group
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Delivers until `stop` is set, then gives all shards back."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keeper.run(stop))
            for deliverer in self._deliverers.values():
                group.create_task(deliverer.run(stop))

    async def _gain(self, lease: Lease) -> None:
        await self._deliverers[parse_lease_name(lease.name)[0]].gain(lease)

    async def _lose(self, lease: Lease) -> None:
        await self._deliverers[parse_lease_name(lease.name)[0]].lose(lease)

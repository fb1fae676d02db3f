"""Hold this process's share of the shards and deliver them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from classifeed_common.lease import Lease, LeaseKeeper, Leases
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.app.refill_shards import ShardRefiller
from classifeed_indexer.domain.shards import lease_names, parse_lease_name


class Worker(Protocol):
    """A loop that works on the held shards of one client."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set."""

    def blocked(self) -> Mapping[str, str]:
        """Return the parts that are stuck or under repair, each with its reason."""


class ShardHolder:
    """Holds leases of all clients' shards, and runs the deliverers and refillers of the shards held.

    The archive's role, a second group on the same queues, will be another holder with another group.
    """

    def __init__(
        self, leases: Leases, deliverers: Mapping[str, Deliverer], refillers: Sequence[ShardRefiller], *, group: str
    ) -> None:
        self._deliverers = deliverers
        self._workers: list[Worker] = [*deliverers.values(), *refillers]
        self._keeper = LeaseKeeper(
            leases, lease_names(group, list(deliverers)), on_gain=self._gain, on_loss=self._lose, group=group
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then release all shards."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keeper.run(stop))
            for worker in self._workers:
                group.create_task(worker.run(stop))

    def blocked(self) -> Mapping[str, str]:
        """Return the parts that are stuck or under repair, each with its reason."""
        return {what: why for worker in self._workers for what, why in worker.blocked().items()}

    async def _gain(self, lease: Lease) -> None:
        await self._deliverers[parse_lease_name(lease.name)[0]].gain(lease)

    async def _lose(self, lease: Lease) -> None:
        await self._deliverers[parse_lease_name(lease.name)[0]].lose(lease)

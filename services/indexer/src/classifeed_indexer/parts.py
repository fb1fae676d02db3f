"""What the indexer is made of: its database, its clients and its loops, joined in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.kafka import KafkaProducer
from classifeed_common.lease import Leases
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.app.hold_shards import ShardHolder
from classifeed_indexer.app.measure_backlog import measure_backlog
from classifeed_indexer.app.refill_shards import ShardRefiller
from classifeed_indexer.clients.receiver import ReceiverClient
from classifeed_indexer.settings import IndexerSettings
from classifeed_indexer.store.offsets import Offsets

# All processes share the shards in this group; offsets are stored under its name, so it never changes.
GROUP: Final = "search"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the role and the servicer of the indexer share.

    Attributes:
        settings: settings of the process.
        database: database of offsets, refills and leases.
        channel: channel to the receiver.
        producer: producer of the index's topics.
        receivers: the receiver by client of the registry.
        offsets: offsets of the group by client.
        holder: loop that holds shards and delivers them.
    """

    settings: IndexerSettings
    database: Database
    channel: grpc.aio.Channel
    producer: KafkaProducer
    receivers: Mapping[str, ReceiverClient]
    offsets: Mapping[str, Offsets]
    holder: ShardHolder

    async def open(self) -> None:
        """Connect to the database and start the producer."""
        await self.database.open()
        await self.producer.start()

    async def close(self) -> None:
        """Close everything."""
        await self.producer.close()
        await self.channel.close()
        await self.database.close()

    async def check_receiver(self) -> None:
        """Return if the receiver can be reached; a readiness check.

        Raises:
            TimeoutError: it cannot.
        """
        async with asyncio.timeout(1):
            await self.channel.channel_ready()

    async def count_backlog(self) -> dict[str, int]:
        """Return the waiting work by item; see `measure_backlog`."""
        clients = [(self.receivers[client], self.offsets[client]) for client in self.settings.client_list]
        return dict(await measure_backlog(clients, GROUP))


def build_parts(settings: IndexerSettings) -> Parts:
    """Return the parts; nothing is opened yet."""
    database, clock = database_of(settings), SystemClock()
    channel = channel_to("receiver", settings.receiver_address, settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    receivers = {client: ReceiverClient(channel, client) for client in settings.client_list}
    offsets = {client: Offsets(database, GROUP, client) for client in settings.client_list}
    deliverers = {
        client: Deliverer(receiver, offsets[client], producer, clock, group=GROUP)
        for client, receiver in receivers.items()
    }
    refillers = [
        ShardRefiller(receiver, offsets[client].refills, deliverers[client], clock)
        for client, receiver in receivers.items()
    ]
    leases = Leases(database, process_holder(settings.service_name()), settings.lease_ttl_s)
    holder = ShardHolder(leases, deliverers, refillers, group=GROUP)
    return Parts(settings, database, channel, producer, receivers, offsets, holder)

"""The only place where the indexer's parts are built and joined."""

from __future__ import annotations

import asyncio

from classifeed.documents.v1.indexer_service_pb2_grpc import add_IndexerServiceServicer_to_server
from classifeed_common.clock import SystemClock
from classifeed_common.ids import process_holder
from classifeed_common.kafka import KafkaProducer, ensure_topics
from classifeed_common.lease import Leases
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck, channel_to, database_of
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import declared, index_documents
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.app.hold_shards import ShardHolder
from classifeed_indexer.app.measure_backlog import measure_backlog
from classifeed_indexer.app.refill_shards import ShardRefiller
from classifeed_indexer.clients.receiver import ReceiverClient
from classifeed_indexer.rpc.indexer_service import IndexerService
from classifeed_indexer.settings import IndexerSettings
from classifeed_indexer.store.offsets import Offsets

SERVICE = "indexer"


async def prepare(settings: IndexerSettings) -> None:
    """Create the topics of the clients' documents. Idempotent."""
    await ensure_topics(
        settings.kafka_bootstrap, [declared(index_documents(client)) for client in settings.client_list]
    )


def build(settings: IndexerSettings) -> ServiceRunner:
    """Return the indexer; no connection is open yet."""
    database = database_of(settings)
    channel = channel_to("receiver", settings.receiver_address, settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    clock = SystemClock()
    receivers = {client: ReceiverClient(channel, client) for client in settings.client_list}
    offsets = {client: Offsets(database, settings.group, client) for client in settings.client_list}
    deliverers = {
        client: Deliverer(receivers[client], offsets[client], producer, clock, settings)
        for client in settings.client_list
    }
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    refillers = [
        ShardRefiller(
            receivers[client],
            offsets[client].refills,
            deliverers[client],
            clock,
            step_documents=settings.refill_documents,
        )
        for client in settings.client_list
    ]
    holder = ShardHolder(leases, deliverers, refillers, group=settings.group)

    async def count_backlog() -> dict[str, int]:
        clients = [(receivers[client], offsets[client]) for client in settings.client_list]
        return dict(await measure_backlog(clients, settings.group))

    async def check_receiver() -> None:
        async with asyncio.timeout(1):
            await channel.channel_ready()

    async def start() -> None:
        await database.open()
        await producer.start()

    async def stop() -> None:
        await producer.close()
        await channel.close()
        await database.close()

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[Role("deliver", holder.run, count_backlog, blocked=holder.blocked)],
        servicers=[Servicer.of(add_IndexerServiceServicer_to_server, IndexerService(offsets))],
        schema=SchemaCheck(database, "classifeed_indexer"),
        readiness={"receiver": check_receiver},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )

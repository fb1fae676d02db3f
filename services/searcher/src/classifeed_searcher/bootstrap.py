"""Joins the pieces of the searcher."""

from __future__ import annotations

from classifeed.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server
from classifeed_common.kafka import DeadLetters, KafkaProducer, OrderedConsumer, index_documents
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import channel_to
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.clients.schemas import SchemaClient
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.consumers.schema_watch import SchemaWatch
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.catalogue import IndexCatalogue, IndexWrite
from classifeed_searcher.store.positions import IndexPositions

_SERVICE = "searcher"


def build(settings: SearcherSettings) -> ServiceRunner:
    """Returns the searcher, ready to run; opens its indexes, and so fails when another process writes them."""
    clients = [client.strip() for client in settings.clients.split(",") if client.strip()]
    catalogues = {client: IndexCatalogue(settings.data_dir, client) for client in clients}
    channel = channel_to("receiver", settings.receiver_address, settings)
    schemas = SchemaClient(channel)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=_SERVICE)
    roles = [Role("schemas", SchemaWatch(catalogues, schemas).run)]
    for client, catalogue in catalogues.items():
        consumer: OrderedConsumer[IndexWrite] = OrderedConsumer(
            bootstrap=settings.kafka_bootstrap,
            group=f"{settings.group}.{client}",
            topics=[index_documents(client)],
            positions=IndexPositions(catalogue),
            handle=IndexSink(catalogue, schemas.get),
            dead_letters=DeadLetters(producer),
            max_records=settings.batch_records,
            assign_all=True,
        )
        roles.append(Role(f"sink-{client}", consumer.run, consumer.backlog))

    async def stop() -> None:
        await producer.close()
        await channel.close()
        for catalogue in catalogues.values():
            catalogue.close()

    # Nothing is named as needed: an index on disk is searched while Kafka and the receiver are away.
    return ServiceRunner(
        settings,
        _SERVICE,
        version_of(_SERVICE),
        roles=roles,
        servicers=[
            Servicer.of(
                add_SearchServiceServicer_to_server,
                SearchService(SearchDocuments(catalogues, at_least_wait_s=settings.at_least_wait_s)),
            )
        ],
        on_start=producer.start,
        on_stop=stop,
    )

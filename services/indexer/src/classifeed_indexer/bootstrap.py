"""Declares the indexer's process: its role, servicer and readiness."""

from __future__ import annotations

from classifeed.documents.v1.indexer_service_pb2_grpc import add_IndexerServiceServicer_to_server
from classifeed_common.kafka import ensure_topics
from classifeed_common.runner import Role, Servicer, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import declared, index_documents
from classifeed_indexer.parts import build_parts
from classifeed_indexer.rpc.indexer_service import IndexerService
from classifeed_indexer.settings import IndexerSettings

SERVICE = "indexer"


async def prepare(settings: IndexerSettings) -> None:
    """Create the topics of the clients' documents. Idempotent."""
    await ensure_topics(
        settings.kafka_bootstrap, [declared(index_documents(client)) for client in settings.client_list]
    )


def build(settings: IndexerSettings) -> ServiceRunner:
    """Return the indexer; nothing is opened yet."""
    parts = build_parts(settings)
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[Role("deliver", parts.holder.run, parts.count_backlog, blocked=parts.holder.blocked)],
        servicers=[Servicer.of(add_IndexerServiceServicer_to_server, IndexerService(parts.offsets))],
        schema=SchemaCheck(parts.database, "classifeed_indexer"),
        readiness={"receiver": parts.check_receiver},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )

"""Declares the receiver's process: its roles and servicers."""

from __future__ import annotations

from classifeed.documents.v1.index_queue_service_pb2_grpc import add_IndexQueueServiceServicer_to_server
from classifeed.documents.v1.receiver_service_pb2_grpc import add_ReceiverServiceServicer_to_server
from classifeed.documents.v1.schema_service_pb2_grpc import add_SchemaServiceServicer_to_server
from classifeed_common.runner import Role, Servicer, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_receiver.parts import build_parts
from classifeed_receiver.rpc.index_queue_service import IndexQueueService
from classifeed_receiver.rpc.receiver_service import ReceiverService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.settings import ReceiverSettings

SERVICE = "receiver"


def build(settings: ReceiverSettings) -> ServiceRunner:
    """Return the receiver; nothing is opened yet."""
    parts = build_parts(settings)
    database, trimmer, expirer = parts.database, parts.trimmer, parts.expirer
    queues = IndexQueueService(database, parts.read_elements, parts.signal, parts.epochs)
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("trim", trimmer.run, blocked=trimmer.blocked),
            Role("expire", expirer.run, expirer.backlog, expirer.blocked),
            Role.together("watch", parts.abandoned, parts.damaged),
        ],
        servicers=[
            Servicer.of(add_ReceiverServiceServicer_to_server, ReceiverService(database, parts.push_documents)),
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(database, parts.epochs)),
            Servicer.of(add_IndexQueueServiceServicer_to_server, queues),
        ],
        schema=SchemaCheck(database, "classifeed_receiver"),
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )

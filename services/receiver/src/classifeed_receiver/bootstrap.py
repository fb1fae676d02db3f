"""The only place where the receiver's parts are built and joined."""

from __future__ import annotations

from functools import partial

from classifeed.documents.v1.index_queue_service_pb2_grpc import add_IndexQueueServiceServicer_to_server
from classifeed.documents.v1.receiver_service_pb2_grpc import add_ReceiverServiceServicer_to_server
from classifeed.documents.v1.schema_service_pb2_grpc import add_SchemaServiceServicer_to_server
from classifeed_common.clock import SystemClock
from classifeed_common.runner import Role, Servicer, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck, database_of
from classifeed_domain.policy import POLICY
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.app.upkeep.expire_documents import DocumentExpirer
from classifeed_receiver.app.upkeep.find_abandoned import find_abandoned
from classifeed_receiver.app.upkeep.find_damaged import find_damaged
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer
from classifeed_receiver.rpc.index_queue_service import IndexQueueService
from classifeed_receiver.rpc.receiver_service import ReceiverService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.settings import ReceiverSettings
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

SERVICE = "receiver"


def build(settings: ReceiverSettings) -> ServiceRunner:
    """Return the receiver; no connection is open yet."""
    database = database_of(settings)
    clock = SystemClock()
    signal = CommitSignal()
    epochs = KnownEpochs(database, clock, refresh_s=settings.epochs_refresh_s)
    push_documents = PushDocuments(database, epochs, signal, settings)
    read_elements = ReadElements(database, signal, clock, poll_s=settings.queue_poll_s)
    trimmer = QueueTrimmer(
        database,
        interval_s=settings.trim_interval_s,
        elements=settings.trim_elements,
        group_lifetime_s=settings.group_lifetime_s,
        failed_age_s=settings.failed_age_s,
    )
    expirer = DocumentExpirer(
        database,
        interval_s=settings.expire_interval_s,
        documents=settings.expire_documents,
        tombstone_age_s=settings.tombstone_age_s,
    )

    abandoned = Watch(
        partial(find_abandoned, database),
        what="documents in abandoned epochs",
        period_s=settings.abandoned_interval_s,
    )

    damaged = Watch(partial(find_damaged, database), what="damaged rows of the registry")

    async def stop() -> None:
        await push_documents.stop()
        await database.close()

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("trim", trimmer.run, blocked=trimmer.blocked),
            Role("expire", expirer.run, expirer.backlog, expirer.blocked),
            Role.together("watch", abandoned, damaged),
        ],
        servicers=[
            Servicer.of(add_ReceiverServiceServicer_to_server, ReceiverService(database, push_documents)),
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(database, epochs)),
            Servicer.of(
                add_IndexQueueServiceServicer_to_server, IndexQueueService(database, read_elements, signal, epochs)
            ),
        ],
        schema=SchemaCheck(database, "classifeed_receiver"),
        on_start=database.open,
        on_stop=stop,
        policy=POLICY,
    )

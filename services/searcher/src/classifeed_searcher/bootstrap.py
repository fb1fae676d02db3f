"""The only place where the searcher's parts are built and joined."""

from __future__ import annotations

import sys
from typing import Final

from classifeed.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, OrderedConsumer
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import channel_to
from classifeed_domain.policy import POLICY
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.app.verify_index import IndexVerifier
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import TopicLog
from classifeed_searcher.consumers.index_keeper import IndexKeeper
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.live_index import LiveIndex
from classifeed_searcher.store.positions import IndexPositions

SERVICE = "searcher"
SWITCH_S: Final = 0.0005
"""Seconds after which a thread with a long search gives way to short ones."""


def build(settings: SearcherSettings) -> ServiceRunner:
    """Return the searcher, ready to run. It locks its folders, so it fails if another process has them."""
    channel = channel_to("receiver", settings.receiver_address, settings)
    cluster = Cluster(settings.kafka_bootstrap, client_id=SERVICE)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    indexes = {client: LiveIndex(client) for client in settings.client_list}
    children = ChildProcesses()
    search = SearchDocuments(indexes)
    keepers: list[IndexKeeper] = []
    roles = [
        Role("watch-children", children.run, blocked=children.blocked, is_everywhere=True),
    ]
    for client, live in indexes.items():
        receiver, topic = ReceiverClient(channel, client), TopicLog(cluster, client)
        keeper = _keeper_of(
            settings, live, Generations(settings.data_dir, client, children), receiver, topic, DeadLetters(producer)
        )
        verifier = IndexVerifier(
            live,
            receiver,
            topic,
            keeper.request_rebuild,
            interval_s=settings.digest_interval_s,
            repair_interval_s=settings.repair_interval_s,
        )
        keepers.append(keeper)
        roles.append(Role(f"consume-{client}", keeper.run, keeper.backlog, blocked=keeper.blocked))
        roles.append(Role(f"verify-{client}", verifier.run, verifier.backlog, blocked=verifier.blocked))

    async def start() -> None:
        sys.setswitchinterval(SWITCH_S)
        await producer.start()

    async def stop() -> None:
        search.close()
        await producer.close()
        await channel.close()
        cluster.close()
        for keeper in keepers:
            keeper.close()

    # Readiness does not depend on Kafka or the receiver: a complete index is searched while they are unavailable.
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=roles,
        servicers=[
            Servicer.of(
                add_SearchServiceServicer_to_server,
                SearchService(search),
            )
        ],
        readiness={f"index of {client}": live.check for client, live in indexes.items()},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


def _keeper_of(
    settings: SearcherSettings,
    live: LiveIndex,
    generations: Generations,
    receiver: ReceiverClient,
    topic: TopicLog,
    dead_letters: DeadLetters,
) -> IndexKeeper:
    def consume(generation: IndexGeneration) -> OrderedConsumer[IndexWrite]:
        sink = IndexSink(generation)
        return OrderedConsumer(
            bootstrap=settings.kafka_bootstrap,
            group=f"{settings.group}.{live.client}",
            topics=[topic.name],
            positions=IndexPositions(generation),
            handle=sink,
            dead_letters=dead_letters,
            refuse=sink.refuse,
            max_records=settings.batch_records,
            gather_s=settings.gather_s,
            assign_all=True,
        )

    return IndexKeeper(live, generations, receiver, topic, consume)

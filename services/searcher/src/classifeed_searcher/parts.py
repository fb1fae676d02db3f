"""The searcher's parts: connections, indexes, and the loops that keep an index."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_common.child_processes import ChildProcesses
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, OrderedConsumer
from classifeed_common.runner.parts import channel_to
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.app.verify_index import IndexVerifier
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import TopicLog
from classifeed_searcher.consumers.index_keeper import IndexKeeper
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.live_index import LiveIndex
from classifeed_searcher.store.positions import IndexPositions

SWITCH_S: Final = 0.0005
"""Seconds after which a thread with a long search gives way to short ones."""
# A commit of so many documents takes about a second.
_BATCH_RECORDS: Final = 5000
# Under steady changes a commit waits for documents: each commit costs 100 ms.
_GATHER_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class ClientIndex:
    """The index of one client, with the loops that keep and verify it."""

    live: LiveIndex
    keeper: IndexKeeper
    verifier: IndexVerifier


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles and the servicer of the searcher share."""

    channel: grpc.aio.Channel
    cluster: Cluster
    producer: KafkaProducer
    children: ChildProcesses
    indexes: dict[str, ClientIndex]
    search: SearchDocuments

    async def open(self) -> None:
        """Have threads give way sooner, and start the producer of dead letters."""
        sys.setswitchinterval(SWITCH_S)
        await self.producer.start()

    async def close(self) -> None:
        """Close the connections and the indexes."""
        self.search.close()
        await self.producer.close()
        await self.channel.close()
        self.cluster.close()
        for index in self.indexes.values():
            index.keeper.close()


def build_parts(settings: SearcherSettings) -> Parts:
    """Return the parts. Nothing is opened yet."""
    channel = channel_to("receiver", settings.receiver_address, settings)
    cluster = Cluster(settings.kafka_bootstrap, client_id=settings.service_name())
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    children = ChildProcesses()
    indexes = {
        client: _build_index(
            settings,
            Generations(settings.data_dir, client, children),
            ReceiverClient(channel, client),
            TopicLog(cluster, client),
            DeadLetters(producer),
        )
        for client in settings.client_list
    }
    search = SearchDocuments({client: index.live for client, index in indexes.items()})
    return Parts(channel, cluster, producer, children, indexes, search)


def _build_index(
    settings: SearcherSettings,
    generations: Generations,
    receiver: ReceiverClient,
    topic: TopicLog,
    dead_letters: DeadLetters,
) -> ClientIndex:
    live = LiveIndex(generations.client)

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
            max_records=_BATCH_RECORDS,
            gather_s=_GATHER_S,
            assign_all=True,
        )

    keeper = IndexKeeper(live, generations, receiver, topic, consume)
    verifier = IndexVerifier(live, receiver, topic, keeper.request_rebuild, interval_s=settings.digest_interval_s)
    return ClientIndex(live, keeper, verifier)

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.index_queue_service_pb2_grpc import add_IndexQueueServiceServicer_to_server
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2_grpc import add_SchemaServiceServicer_to_server
from classifeed_common.clock import Clock, SystemClock
from classifeed_common.db import Database
from classifeed_common.kafka import Cluster, KafkaProducer, Message, Topic
from classifeed_common.lease import Lease, Leases
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_domain.topics import index_documents
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.app.measure_backlog import measure_backlog
from classifeed_indexer.app.refill_shards import ShardRefiller
from classifeed_indexer.clients.receiver import ReceiverClient
from classifeed_indexer.domain.shards import lease_name
from classifeed_indexer.store.offsets import Offsets
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.app.pushing.put_schema import put_schema
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.rpc.index_queue_service import IndexQueueService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

GROUP = "search"


def make_document(pk: str, version: int = 1, *, title: str = "диван", epoch: int = 1) -> RawDocument:
    document = RawDocument(pk=pk, version=version, epoch=epoch, action=DOCUMENT_ACTION_UPSERT)
    document.timestamp.FromDatetime(datetime(2026, 11, 21, 12, tzinfo=UTC))
    document.fields.add(name="title").values.add(string_value=title)
    return document


def make_schema(client: str, epoch: int = 1) -> Schema:
    return Schema(
        client=client,
        epoch=epoch,
        fields=[
            {"name": "price", "type": "FIELD_TYPE_DOUBLE", "indexed": True},
            {"name": "title", "type": "FIELD_TYPE_TEXT", "indexed": True, "analyzer": "ANALYZER_RU_EN"},
            {"name": "tags", "type": "FIELD_TYPE_STRING", "indexed": True, "repeated": True},
        ],
        embeddings=[{"name": "meaning", "dimension": 3}],
    )


@pytest.fixture
def client() -> str:
    """Return a client, and so a topic, that only this test uses."""
    return f"c{uuid.uuid4().hex[:12]}"


MakeDocument = Callable[..., RawDocument]
MakeSchema = Callable[..., Schema]


@pytest.fixture
def document() -> MakeDocument:
    return make_document


@pytest.fixture
def schema() -> MakeSchema:
    return make_schema


class Registry:
    """The real receiver, in this process."""

    def __init__(self, database: Database, client: str) -> None:
        self.database = database
        self.client = client
        self.signal = CommitSignal()
        self.epochs = KnownEpochs(database, SystemClock(), refresh_s=60)
        self.push_documents = PushDocuments(database, self.epochs, self.signal, limit_bytes=512 * 1024, transactions=2)
        self.read_elements = ReadElements(database, self.signal, SystemClock(), poll_s=0.05)

    async def push(self, *documents: RawDocument, traces: Mapping[int, str] | None = None) -> None:
        outcomes = await self.push_documents(self.client, documents, traces=traces or {})
        assert {type(outcome).__name__ for outcome in outcomes} <= {"Acknowledged", "Stale"}

    async def put(self, schema: Schema) -> None:
        await put_schema(self.database, self.epochs, schema)

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(sql, parameters)).fetchall()

    def servicers(self) -> list[Servicer]:
        return [
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(self.database, self.epochs)),
            Servicer.of(
                add_IndexQueueServiceServicer_to_server,
                IndexQueueService(self.database, self.read_elements, self.signal, self.epochs),
            ),
        ]


@pytest.fixture
async def registry(migrated_database: Callable[..., Awaitable[Database]], client: str) -> AsyncIterator[Registry]:
    registry = Registry(await migrated_database("classifeed_receiver"), client)
    await registry.put(make_schema(client))
    yield registry
    await registry.push_documents.stop()


@pytest.fixture
async def receiver_target(registry: Registry, rpc_server: StartServer) -> str:
    return await rpc_server("receiver", *registry.servicers())


@pytest.fixture
async def indexer_database(migrated_database: Callable[..., Awaitable[Database]]) -> Database:
    return await migrated_database("classifeed_indexer")


@dataclass
class RecordingProducer:
    """Producer that acknowledges and keeps all messages; `on_send` may interfere."""

    sent: list[IndexDocument] = field(default_factory=list)
    headers: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    """Headers of the last message of a document, by its key."""
    on_send: Callable[[], Awaitable[None]] | None = None

    async def send(self, messages: list[Message]) -> None:
        documents = [IndexDocument.FromString(message.value) for message in messages]
        self.sent += documents
        self.headers |= {document.pk: message.headers for document, message in zip(documents, messages, strict=True)}
        if self.on_send is not None:
            await self.on_send()


class Indexer:
    """A process of the indexer, driven round by round."""

    def __init__(self, channel: Any, database: Database, client: str, producer: Any, holder: str, clock: Clock) -> None:
        self.client = client
        self.producer = producer
        self.receiver = ReceiverClient(channel, client)
        self.offsets = Offsets(database, GROUP, client)
        self.deliverer = Deliverer(
            self.receiver, self.offsets, producer, clock, group=GROUP, read_wait_s=0, report_interval_s=0.01
        )
        self.leases = Leases(database, holder, ttl_s=600)
        self.refiller = ShardRefiller(
            self.receiver,
            self.offsets.refills,
            self.deliverer,
            clock,
            step_documents=20,
        )

    async def take(self, *shards: int) -> list[Lease]:
        """Take shards, as a LeaseKeeper would."""
        leases = []
        for shard in shards:
            lease = await self.leases.acquire(lease_name(GROUP, self.client, shard))
            assert lease is not None
            await self.deliverer.gain(lease)
            leases.append(lease)
        return leases

    async def deliver_all(self) -> int:
        total = 0
        while (delivered := await self.deliverer.deliver_once()) or await self.waits():
            total += delivered
        return total

    async def backlog(self) -> dict[str, int]:
        return dict(await measure_backlog([(self.receiver, self.offsets)], GROUP))

    async def is_delivered(self) -> bool:
        return not any((await self.backlog()).values())

    async def settle(self) -> None:
        """Run rounds until there is nothing left to do."""
        async with asyncio.timeout(120):
            while not await self.is_delivered():
                await self.deliverer._deliver_or_reposition()
                await self.refiller.step_once()

    async def waits(self) -> bool:
        cursors = dict(self.deliverer._delivered)
        return bool(cursors) and bool((await self.receiver.read(cursors, limit=1, wait_s=0)).next)

    async def stored_offsets(self) -> dict[int, int]:
        return {key.shard: idx for key, idx in (await self.offsets.list_offsets()).items() if key.queue == 1 and idx}


MakeIndexer = Callable[..., Indexer]


@pytest.fixture
def make_indexer(
    receiver_target: str, rpc_channel: OpenChannel, indexer_database: Database, client: str
) -> MakeIndexer:
    """Make processes of the indexer: `make_indexer("a", producer)`."""

    def make(holder: str = "a", producer: Any = None, clock: Clock | None = None) -> Indexer:
        channel = rpc_channel(receiver_target, caller="indexer", audience="receiver")
        return Indexer(
            channel, indexer_database, client, producer or RecordingProducer(), holder, clock or SystemClock()
        )

    return make


class Index:
    """Content of an index after some messages, by the sink's rule: lower fences and older idx are dropped."""

    def __init__(self, sent: Iterable[IndexDocument] = ()) -> None:
        self._fences: dict[int, int] = defaultdict(int)
        self._reached: dict[tuple[int, int], int] = defaultdict(int)
        self.documents: dict[str, IndexDocument] = {}
        self.dropped = 0
        self.apply(sent)

    def apply(self, sent: Iterable[IndexDocument]) -> None:
        for document in sent:
            key = (document.shard, document.queue)
            if document.fence < self._fences[document.shard] or document.idx <= self._reached[key]:
                self.dropped += 1
                continue
            self._fences[document.shard] = document.fence
            self._reached[key] = document.idx
            self.documents[document.pk] = document

    def versions(self) -> dict[str, int]:
        """Return the versions of the searchable documents."""
        found = self.documents.items()
        return {pk: document.version for pk, document in found if document.action == DOCUMENT_ACTION_UPSERT}


@pytest.fixture
async def topic(kafka: EmbeddedKafka, client: str) -> AsyncIterator[str]:
    """Create the client's topic on the session's Kafka."""
    cluster = Cluster(kafka.bootstrap, client_id="test")
    name = index_documents(client)
    await cluster.ensure([Topic(name, 64, 3_600_000)])
    yield name
    await cluster.remove([name])


@pytest.fixture
async def producer(kafka: EmbeddedKafka, topic: str) -> AsyncIterator[KafkaProducer]:
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    yield producer
    await producer.close()


@pytest.fixture
def read_topic(kafka: EmbeddedKafka, topic: str) -> Callable[[], list[tuple[int, IndexDocument]]]:
    """Read all records of the topic, as (partition, document), ordered within each partition."""

    def read() -> list[tuple[int, IndexDocument]]:
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "test", "enable.auto.commit": False})
        partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(64)]
        ends = {p.partition: consumer.get_watermark_offsets(p, timeout=60)[1] for p in partitions}
        left = sum(ends.values())
        consumer.assign(partitions)
        found: list[tuple[int, IndexDocument]] = []
        deadline = time.monotonic() + 60
        while len(found) < left:
            assert time.monotonic() < deadline
            for record in consumer.consume(500, timeout=0.2):  # waits that long unless there are 500
                assert record.error() is None
                partition, value = record.partition(), record.value()
                assert partition is not None
                assert value is not None
                found.append((partition, IndexDocument.FromString(value)))
        consumer.close()
        return found

    return read

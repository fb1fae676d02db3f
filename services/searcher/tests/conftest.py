"""The real receiver and indexer for a searcher: the source of an index, and the source of its changes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.index_queue_service_pb2_grpc import add_IndexQueueServiceServicer_to_server
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2_grpc import add_SchemaServiceServicer_to_server
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, OrderedConsumer, Topic, dlq
from classifeed_common.lease import Leases
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import forget_records
from classifeed_domain.document_bodies import encode_body
from classifeed_domain.document_shards import SHARDS
from classifeed_domain.topics import index_documents
from classifeed_indexer.app.deliver_elements import Deliverer
from classifeed_indexer.app.refill_shards import ShardRefiller
from classifeed_indexer.clients.receiver import ReceiverClient as IndexerReceiver
from classifeed_indexer.domain.shards import lease_name
from classifeed_indexer.store.offsets import Offsets
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.app.pushing.put_schema import put_schema
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.rpc.index_queue_service import IndexQueueService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs
from classifeed_searcher.app.verify_index import IndexVerifier
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import TopicLog
from classifeed_searcher.consumers.index_keeper import IndexKeeper
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.domain.query import Everything
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.live_index import LiveIndex
from classifeed_searcher.store.positions import IndexPositions

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DEADLINE_S = 180


def make_schema(client: str, epoch: int = 1) -> Schema:
    made = Schema(client=client, epoch=epoch)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True)
    return made


def make_upsert(pk: str, version: int = 1, *, title: str = "диван") -> RawDocument:
    document = RawDocument(pk=pk, version=version, epoch=1, action=DOCUMENT_ACTION_UPSERT)
    document.timestamp.FromDatetime(NOW)
    document.body = encode_body({"title": title, "price": float(version)})
    return document


def make_delete(pk: str, version: int) -> RawDocument:
    document = RawDocument(pk=pk, version=version, epoch=1, action=DOCUMENT_ACTION_DELETE)
    document.timestamp.FromDatetime(NOW)
    return document


class Upstream:
    """The receiver, and an indexer that holds all shards."""

    def __init__(self, client: str, receiver_database: Database, indexer_database: Database) -> None:
        self.client = client
        self.database = receiver_database
        self.indexer_database = indexer_database
        self.signal = CommitSignal()
        self.epochs = KnownEpochs(receiver_database, SystemClock(), refresh_s=60)
        self.push_documents = PushDocuments(
            receiver_database, self.epochs, self.signal, limit_bytes=512 * 1024, transactions=2
        )
        self._read_elements = ReadElements(receiver_database, self.signal, SystemClock(), poll_s=0.05)
        self._delivery: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()

    async def put_schema(self) -> None:
        await put_schema(self.database, self.epochs, make_schema(self.client))

    async def push(self, *documents: RawDocument) -> None:
        for start in range(0, len(documents), 500):
            outcomes = await self.push_documents(self.client, documents[start : start + 500])
            assert {type(outcome).__name__ for outcome in outcomes} == {"Acknowledged"}

    async def execute(self, sql: str, *parameters: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(sql, parameters)

    async def live_versions(self) -> dict[str, int]:
        async with self.database.connection() as connection:
            cursor = await connection.execute("SELECT pk, version FROM documents WHERE status = 1")
            return dict(await cursor.fetchall())

    async def delivered(self) -> None:
        """Wait until the indexer has delivered everything."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                async with self.database.connection() as connection:
                    cursor = await connection.execute(
                        "SELECT count(*) FROM shards s LEFT JOIN progress p USING (client, queue, shard)"
                        " WHERE s.queue IN (1, 2) AND s.last_idx > coalesce(p.idx, 0)"
                    )
                    [(left,)] = await cursor.fetchall()
                if not left:
                    return
                await asyncio.sleep(0.05)

    def servicers(self) -> list[Servicer]:
        return [
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(self.database, self.epochs)),
            Servicer.of(
                add_IndexQueueServiceServicer_to_server,
                IndexQueueService(self.database, self._read_elements, self.signal, self.epochs),
            ),
        ]

    async def start_indexer(self, channel: grpc.aio.Channel, producer: KafkaProducer) -> None:
        group = "search"
        offsets = Offsets(self.indexer_database, group, self.client)
        receiver = IndexerReceiver(channel, self.client)
        deliverer = Deliverer(
            receiver, offsets, producer, SystemClock(), group=group, read_wait_s=0.2, report_interval_s=0.05
        )
        leases = Leases(self.indexer_database, f"holder-{uuid.uuid4().hex}", ttl_s=3600)
        for shard in range(SHARDS):
            lease = await leases.acquire(lease_name(group, self.client, shard))
            assert lease is not None
            await deliverer.gain(lease)
        refiller = ShardRefiller(receiver, offsets.refills, deliverer, SystemClock(), step_documents=500)
        self._stop = asyncio.Event()
        self._delivery = [asyncio.create_task(run(self._stop)) for run in (deliverer.run, refiller.run)]

    async def stop_indexer(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._delivery)
        self._delivery = []
        async with self.indexer_database.transaction() as tx:
            await tx.execute("DELETE FROM leases")


class Searcher:
    """A replica of the searcher over a folder, without its entry points."""

    def __init__(
        self, folder: Path, client: str, channel: grpc.aio.Channel, kafka: EmbeddedKafka, producer: KafkaProducer
    ) -> None:
        self.live = LiveIndex(client)
        self.channel = channel
        self.receiver = ReceiverClient(channel, client)
        self.topic = TopicLog(Cluster(kafka.bootstrap, client_id="searcher"), client)
        self.generations = Generations(folder, client)

        def consume(generation: IndexGeneration) -> OrderedConsumer[IndexWrite]:
            sink = IndexSink(generation)
            return OrderedConsumer(
                bootstrap=kafka.bootstrap,
                group=f"searcher.{client}",
                topics=[self.topic.name],
                positions=IndexPositions(generation),
                handle=sink,
                dead_letters=DeadLetters(producer),
                refuse=sink.refuse,
                assign_all=True,
                max_backoff_s=0.2,
            )

        self.keeper = IndexKeeper(self.live, self.generations, self.receiver, self.topic, consume)
        self.verifier = IndexVerifier(
            self.live,
            self.receiver,
            self.topic,
            self.keeper.request_rebuild,
            interval_s=10,
        )
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *, verifies: bool = False) -> None:
        runs = [self.keeper.run, *([self.verifier.run] if verifies else [])]
        self._tasks = [asyncio.create_task(run(self._stop)) for run in runs]

    def versions(self) -> dict[str, int]:
        """Return the version of each searchable document."""
        generation = self.live.generation
        return {} if generation is None else stored_versions(generation)

    @property
    def is_whole(self) -> bool:
        return self.live.generation is not None

    async def until(self, condition: Callable[[], bool], what: str = "") -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not condition():
                    for task in self._tasks:
                        if task.done():
                            task.result()
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"not within {DEADLINE_S} s: {what or condition}") from None

    async def settled(self) -> None:
        """Wait until there is nothing left to do, as `classifeed settle` does."""
        async with asyncio.timeout(DEADLINE_S):
            while any({**await self.keeper.backlog(), **await self.verifier.backlog()}.values()):
                await asyncio.sleep(0.1)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks)
        self._tasks = []
        self.keeper.close()

    async def kill(self) -> None:
        """End like a killed process: nothing more is written, and the locks are free."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self.keeper.close()


def stored_versions(generation: IndexGeneration) -> dict[str, int]:
    """Return the version of each document of an index."""
    found = generation.index.search(
        Everything(), [], sort_field="", descending=False, offset=0, limit=max(1, generation.index.documents)
    )
    return {hit.pk: hit.version for hit in found.hits}


class Disk:
    """The disk of the indexes: while it does not respond, nothing is applied."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_away = False
        take_in = IndexSink.__call__

        async def write(sink: IndexSink, *batch: Any) -> None:
            if self.is_away:
                raise Unavailable("DISK_UNAVAILABLE", "the disk does not respond")
            await take_in(sink, *batch)

        monkeypatch.setattr(IndexSink, "__call__", write)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def client() -> str:
    """Return a client, and so a topic, that only this test uses."""
    return f"c{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def upstream(migrated_database: Callable[..., Awaitable[Database]], client: str) -> AsyncIterator[Upstream]:
    made = Upstream(
        client,
        await migrated_database("classifeed_receiver", max_size=8),
        await migrated_database("classifeed_indexer"),
    )
    yield made
    await made.push_documents.stop()


@pytest.fixture
async def topic(kafka: EmbeddedKafka, client: str) -> AsyncIterator[str]:
    cluster = Cluster(kafka.bootstrap, client_id="test")
    name = index_documents(client)
    topics = [Topic(name, SHARDS, 3_600_000), Topic(dlq(name), 1, 3_600_000)]
    await cluster.ensure(topics)
    yield name
    with suppress(Exception):
        await cluster.remove([topic.name for topic in topics])


@pytest.fixture
def forget_topic(kafka: EmbeddedKafka, topic: str) -> Callable[[], Awaitable[None]]:
    """Remove the records of the topic, as its retention does after a week."""

    async def forget() -> None:
        await forget_records(kafka.bootstrap, topic)

    return forget


@pytest.fixture
async def producer(kafka: EmbeddedKafka, topic: str) -> AsyncIterator[KafkaProducer]:
    made = KafkaProducer(kafka.bootstrap, client_id="test")
    await made.start()
    yield made
    await made.close()


@pytest.fixture
async def channels(upstream: Upstream, rpc_server: Any, rpc_channel: Any) -> Mapping[str, grpc.aio.Channel]:
    """Return channels to the receiver, by caller."""
    target = await rpc_server("receiver", *upstream.servicers())
    return {caller: rpc_channel(target, caller=caller, audience="receiver") for caller in ("indexer", "searcher")}


@pytest.fixture
async def open_searcher(
    channels: Mapping[str, grpc.aio.Channel], kafka: EmbeddedKafka, producer: KafkaProducer, client: str, tmp_path: Path
) -> AsyncIterator[Callable[..., Searcher]]:
    """Open a searcher over a folder of the test; an earlier one of this folder must have ended."""
    made: list[Searcher] = []

    def open_(folder: str = "") -> Searcher:
        made.append(Searcher(tmp_path / folder, client, channels["searcher"], kafka, producer))
        return made[-1]

    yield open_
    for searcher in made:
        await searcher.kill()


@pytest.fixture
async def deliver(
    upstream: Upstream, channels: Mapping[str, grpc.aio.Channel], producer: KafkaProducer
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Start the indexer."""
    yield lambda: upstream.start_indexer(channels["indexer"], producer)
    await upstream.stop_indexer()

"""From the topic into the index, with repetitions, crashes, zombies and poison, on real Kafka."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from classifeed.documents.v1 import document_pb2, index_document_pb2, index_queue_service_pb2, schema_pb2
from classifeed_common.kafka import (
    Cluster,
    DeadLetters,
    KafkaProducer,
    Message,
    OrderedConsumer,
    Position,
    Topic,
    dlq,
    message_of,
)
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_domain.topics import index_documents
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.store import generation as generation_module
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.positions import IndexPositions
from classifeed_searcher.store.state_file import write_state

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
MAIN = index_queue_service_pb2.INDEX_QUEUE_MAIN


def schema_for(client: str) -> schema_pb2.Schema:
    made = schema_pb2.Schema(client=client, epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True)
    return made


class Feeder:
    """Sends index documents as an indexer does."""

    def __init__(self, client: str, producer: KafkaProducer) -> None:
        self.client = client
        self._producer = producer

    async def send(self, *documents: index_document_pb2.IndexDocument) -> None:
        topic = index_documents(self.client)
        await self._producer.send(
            [message_of(topic, each.pk.encode(), each, partition=each.shard) for each in documents]
        )

    async def send_raw(self, value: bytes, partition: int) -> None:
        await self._producer.send([Message(index_documents(self.client), b"x", value, {}, partition)])

    def document(
        self, pk: str, version: int, idx: int, *, title: str = "диван", fence: int = 1, shard: int = 0
    ) -> index_document_pb2.IndexDocument:
        made = index_document_pb2.IndexDocument(
            client=self.client,
            epoch=1,
            pk=pk,
            version=version,
            action=document_pb2.DOCUMENT_ACTION_UPSERT,
            fence=fence,
            queue=MAIN,
            shard=shard,
            idx=idx,
        )
        made.fields.add(name="title").values.add(string_value=title)
        return made


@pytest.fixture
async def feeder(kafka: EmbeddedKafka) -> AsyncIterator[Feeder]:
    client = f"t{uuid.uuid4().hex[:10]}"
    cluster = Cluster(kafka.bootstrap, client_id="test")
    topic = index_documents(client)
    await cluster.ensure([Topic(topic, 2, 3_600_000), Topic(dlq(topic), 1, 3_600_000)])
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    yield Feeder(client, producer)
    await producer.close()
    await cluster.remove([topic, dlq(topic)])


class Replica:
    """A searcher's sink over a folder; it can be stopped and restarted over the same folder."""

    def __init__(self, kafka: EmbeddedKafka, folder: Path, client: str, producer: KafkaProducer) -> None:
        if folder.exists():
            self.generation = IndexGeneration.open(folder)
        else:
            self.generation = IndexGeneration.create(folder, schema_for(client))
            self.generation.commit(self.generation.open_write(), {})
        self._stop = asyncio.Event()
        sink = IndexSink(self.generation)
        consumer: OrderedConsumer[IndexWrite] = OrderedConsumer(
            bootstrap=kafka.bootstrap,
            group=f"searcher.{client}",
            topics=[index_documents(client)],
            positions=IndexPositions(self.generation),
            handle=sink,
            dead_letters=DeadLetters(producer),
            refuse=sink.refuse,
            assign_all=True,
            max_backoff_s=0.2,
        )
        self.consumer = consumer
        self._task = asyncio.create_task(consumer.run(self._stop))

    def versions(self, *pks: str) -> list[int]:
        hits = [self.generation.index.get(pk) for pk in pks]
        return [hit.version if hit else 0 for hit in hits]

    async def until(self, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        async with asyncio.timeout(timeout_s):
            while not condition():
                if self._task.done():
                    self._task.result()
                await asyncio.sleep(0.02)

    async def drained(self, timeout_s: float = 120) -> None:
        async with asyncio.timeout(timeout_s):
            while any((await self.consumer.backlog()).values()):
                await asyncio.sleep(0.02)

    async def stop(self) -> None:
        if not self._stop.is_set():
            self._stop.set()
            await self._task
            self.generation.close()


@pytest.fixture
async def start_replica(
    kafka: EmbeddedKafka, feeder: Feeder, tmp_path: Path
) -> AsyncIterator[Callable[[], Awaitable[Replica]]]:
    producer = KafkaProducer(kafka.bootstrap, client_id="letters")
    await producer.start()
    running: list[Replica] = []

    async def start() -> Replica:
        if running:
            await running.pop().stop()
        running.append(Replica(kafka, tmp_path / "generation", feeder.client, producer))
        return running[-1]

    yield start
    for replica in running:
        await replica.stop()
    await producer.close()


async def test_documents_are_found_and_repetitions_and_zombies_change_nothing(
    feeder: Feeder, start_replica: Callable[[], Awaitable[Replica]]
) -> None:
    replica = await start_replica()
    await feeder.send(feeder.document("a", 1, 1), feeder.document("a", 2, 2), feeder.document("b", 1, 1, shard=1))
    await replica.until(lambda: replica.versions("a", "b") == [2, 1])
    # The element of version 1 again (an indexer that died before its offset moved), then a sender without the lease.
    await feeder.send(feeder.document("a", 1, 1), feeder.document("a", 3, 3, fence=2))
    await feeder.send(feeder.document("a", 9, 4, fence=1))
    await replica.until(lambda: replica.versions("a") == [3])
    await replica.drained()
    assert replica.versions("a", "b") == [3, 1]


async def test_searcher_goes_on_where_it_stood(feeder: Feeder, start_replica: Callable[[], Awaitable[Replica]]) -> None:
    replica = await start_replica()
    await feeder.send(feeder.document("a", 1, 1))
    await replica.until(lambda: replica.versions("a") == [1])
    again = await start_replica()
    assert again.versions("a") == [1], "found before anything is read from the topic"
    await feeder.send(feeder.document("a", 2, 2))
    await again.until(lambda: again.versions("a") == [2])


@pytest.mark.parametrize("order", ["index first", "state first"])
async def test_crash_between_index_and_state(
    feeder: Feeder,
    start_replica: Callable[[], Awaitable[Replica]],
    monkeypatch: pytest.MonkeyPatch,
    order: str,
) -> None:
    """The index is committed first, so a crash causes a repetition. The naive order, state first, loses documents."""
    replica = await start_replica()
    await feeder.send(feeder.document("a", 1, 1))
    await replica.until(lambda: replica.versions("a") == [1])

    class Crash(Exception):
        pass

    crashed = asyncio.Event()
    real_write, real_commit = write_state, IndexGeneration.commit

    def die_before_the_state(*_: object) -> None:
        crashed.set()
        raise Crash

    def state_first(self: IndexGeneration, write: IndexWrite, positions: dict[tuple[str, int], Position]) -> None:
        self.state.positions.update(positions)
        self.state.watermarks = write.watermarks
        real_write(self.state_path, self.state)
        crashed.set()
        raise Crash

    if order == "index first":
        monkeypatch.setattr(generation_module, "write_state", die_before_the_state)
    else:
        monkeypatch.setattr(IndexGeneration, "commit", state_first)
    await feeder.send(feeder.document("a", 2, 2), feeder.document("b", 2, 1, shard=1))
    async with asyncio.timeout(120):
        await crashed.wait()
    await replica.stop()
    monkeypatch.setattr(generation_module, "write_state", real_write)
    monkeypatch.setattr(IndexGeneration, "commit", real_commit)

    again = await start_replica()
    await again.drained()
    found = again.versions("a", "b")
    assert (found == [2, 2]) is (order == "index first"), found


async def test_crash_before_the_index_is_committed_loses_nothing(
    feeder: Feeder, start_replica: Callable[[], Awaitable[Replica]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state must not say yet that the documents were applied: they are read again."""
    replica = await start_replica()
    await feeder.send(feeder.document("a", 1, 1))
    await replica.until(lambda: replica.versions("a") == [1])
    loop, crashed = asyncio.get_running_loop(), asyncio.Event()

    def die(_: object) -> None:
        loop.call_soon_threadsafe(crashed.set)
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("classifeed_searcher.engine.index.TantivyIndex.commit", die)
        await feeder.send(feeder.document("a", 2, 2), feeder.document("b", 2, 1, shard=1))
        async with asyncio.timeout(120):
            await crashed.wait()
        await replica.stop()

    again = await start_replica()
    await again.drained()
    assert again.versions("a", "b") == [2, 2]


async def test_killed_writer_process_loses_nothing(
    feeder: Feeder, start_replica: Callable[[], Awaitable[Replica]]
) -> None:
    """Neither its last documents, nor those that it was about to commit."""
    replica = await start_replica()
    count = 3_000
    killed: set[int] = set()
    writer = replica.generation.writer
    for first in range(0, count, 500):
        await feeder.send(*(feeder.document(f"{idx}", 1, idx + 1) for idx in range(first, first + 500)))
        while writer.pid in {None, *killed}:
            await asyncio.sleep(0.001)
        os.kill(pid := cast(int, writer.pid), signal.SIGKILL)
        killed.add(pid)
    await replica.drained()
    assert replica.generation.index.documents == count


async def test_poison_goes_to_its_topic_and_the_shard_moves_on(
    feeder: Feeder, start_replica: Callable[[], Awaitable[Replica]], kafka: EmbeddedKafka
) -> None:
    replica = await start_replica()
    wrong = feeder.document("w", 1, 1)
    wrong.fields.add(name="price").values.add(string_value="дёшево")
    await feeder.send_raw(b"\xff\xff not a document", 0)
    await feeder.send(wrong, feeder.document("a", 1, 2))
    await replica.until(lambda: replica.versions("a", "w") == [1, 0])
    letters = dlq(index_documents(feeder.client))
    ends = await Cluster(kafka.bootstrap, client_id="count").ends([(letters, 0)])
    assert ends == {(letters, 0): 2}

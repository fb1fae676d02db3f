"""Topics of one test, the messages in them, and the output of the resharder and the jobs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from classifeed.pictures.v1.events_pb2 import PictureEvent
from classifeed.pictures.v1.orders_pb2 import LoadResult
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.pictures.v1.requests_pb2 import PictureNotices, PictureRequest, PictureRequests
from classifeed_common.db import Database, ddl
from classifeed_common.kafka import DeadLetters, KafkaProducer, Message, OrderedConsumer, TablePositions, message_of
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.background import running
from classifeed_pictures.consumers.resharder import Resharder
from classifeed_pictures.domain.urls.canonical import CanonicalRules, shard_of, url_hash

SHARDS = 8
RULES = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": ["utm_*"]})


class Shown(NamedTuple):
    """An event in its topic."""

    partition: int
    key: bytes
    event: PictureEvent

    @property
    def source(self) -> tuple[str, int, int, str, str]:
        """The identity of the event, also for repetitions: where it was read, and the item of the record."""
        event = self.event
        place = event.source
        return place.name, place.partition, place.position, event.url, event.requested.reference


@dataclass
class Keys:
    """The topics of a test, and a resharder of them."""

    bootstrap: str
    database: Database
    producer: KafkaProducer
    requests: str
    loads: str
    events: str
    results: str
    group: str
    rules: CanonicalRules = field(default=RULES)

    def resharder(self, *, producer: Any = None, positions: Any = None, max_records: int = 100) -> OrderedConsumer[Any]:
        producer = producer or self.producer
        handler = Resharder(
            producer,
            DeadLetters(self.producer),
            current_rules=lambda: self.rules,
            events_topic=self.events,
            partitions=SHARDS,
            results_topic=self.results,
        )
        return OrderedConsumer(
            bootstrap=self.bootstrap,
            group=self.group,
            topics=[self.requests, self.loads],
            positions=positions or TablePositions(self.database, effect_limit_s=60),
            handle=handler.handle,
            dead_letters=DeadLetters(self.producer),
            max_records=max_records,
            session_timeout_s=30,
            max_poll_interval_s=60,
            max_backoff_s=0.2,
        )

    async def reshard(self, **options: Any) -> None:
        """Run a resharder until no record is left."""
        consumer = self.resharder(**options)
        async with running(consumer):
            await self.is_resharded(consumer)

    async def is_resharded(self, consumer: OrderedConsumer[Any]) -> None:
        async with asyncio.timeout(120):
            while any((await consumer.backlog()).values()):
                await asyncio.sleep(0.05)

    async def send(self, *messages: Message) -> None:
        await self.producer.send(messages)

    def request(self, *urls: str, recipient: str = "shop", first: int = 0, partition: int | None = None) -> Message:
        """Return a message with requests, whose references are numbers."""
        requests = [
            PictureRequest(url=url, namespace="offers", reference=str(number))
            for number, url in enumerate(urls, start=first)
        ]
        message = PictureRequests(recipient=recipient, requests=requests)
        return message_of(self.requests, recipient.encode(), message, partition=partition)

    def notice(self, *notices: Any) -> Message:
        return message_of(self.requests, b"key", PictureNotices(notices=notices))

    def load(self, url: str, /, **changes: Any) -> Message:
        result = LoadResult(url=url, url_hash=url_hash(url), namespace="offers", failure=LoadFailure(code="X"))
        for name, value in changes.items():
            setattr(result, name, value)
        return message_of(self.loads, result.url_hash, result)

    async def shown(self) -> list[Shown]:
        """Return all events, in the order of each shard; check that each is in its shard."""
        found = [
            Shown(message.partition(), message.key(), PictureEvent.FromString(message.value()))
            for message in await asyncio.to_thread(read_all, self.bootstrap, self.events)
        ]
        for each in found:
            assert each.key == each.event.url_hash == url_hash(each.event.url)
            assert each.partition == shard_of(each.key, SHARDS)
        return found


def read_all(bootstrap: str, topic: str) -> list[Any]:
    """Return the records of a topic, partition by partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reads", "enable.partition.eof": True})
    try:
        partitions = consumer.list_topics(topic, 60).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found, left = [], set(partitions)
        while left:
            message = consumer.poll(60)
            assert message is not None, f"{topic} does not answer"
            if message.error() is None:
                found.append(message)
            else:
                left.discard(message.partition())
        return found
    finally:
        consumer.close()


def once(shown: Iterable[Shown]) -> list[Shown]:
    """Return events without repetitions, the first of each."""
    return list({each.source: each for each in reversed(list(shown))}.values())[::-1]


def repeated(shown: Iterable[Shown]) -> int:
    return sum(Counter(each.source for each in shown).values()) - len(once(shown))


@pytest.fixture
async def producer(kafka: EmbeddedKafka) -> AsyncIterator[KafkaProducer]:
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    yield producer
    await producer.close()


@pytest.fixture
async def keys(
    database: Database, kafka: EmbeddedKafka, producer: KafkaProducer, make_topic: Callable[..., Any], topic_prefix: str
) -> Keys:
    async with database.transaction() as tx:
        await tx.execute(ddl("consumer_offsets", 1))
    return Keys(
        kafka.bootstrap,
        database,
        producer,
        await make_topic("requests", partitions=4),
        await make_topic("loads", partitions=2),
        await make_topic("events", partitions=SHARDS),
        await make_topic("results"),
        f"{topic_prefix}resharder",
    )

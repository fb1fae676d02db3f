"""The scenes of a topic: the broker, a producer and a reader; and what runs in the background of a test."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Protocol, Self

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as ReceivedMessage
from confluent_kafka.admin import AdminClient

from classifeed_common.db import Database
from classifeed_common.kafka import Cluster, KafkaProducer, Message, Topic, dlq
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.recovery import until


class Work(Protocol):
    """A consumer or relay that runs until it is stopped."""

    async def run(self, stop: asyncio.Event) -> None: ...


class Running:
    """A running consumer or relay. The end of the block stops it, or waits for its own end."""

    def __init__(self, work: Work, *, ends_with: type[Exception] | None = None) -> None:
        self._work = work
        self._ends_with = ends_with
        self._stop = asyncio.Event()
        self.ended_with: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work.run(self._stop))
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._ends_with is None or raised[0] is not None:
            self._stop.set()
        async with asyncio.timeout(120):
            await asyncio.wait({self._task})
        if self._ends_with is None:
            self._task.result()
        elif raised[0] is None:
            self.ended_with = self._task.exception()
            assert isinstance(self.ended_with, self._ends_with), self.ended_with


def value_of(message: ReceivedMessage) -> bytes:
    """Return the value of a message, which must have one."""
    value = message.value()
    assert value is not None
    return value


def headers_of(message: ReceivedMessage) -> dict[str, str | bytes | None]:
    return dict(message.headers() or {})


class TopicScene:
    """A topic on the embedded broker, with a producer and a reader."""

    def __init__(self, kafka: EmbeddedKafka, topic: str) -> None:
        self.kafka = kafka
        self.topic = topic
        self.cluster = Cluster(kafka.bootstrap, client_id="test")
        self.producer = KafkaProducer(kafka.bootstrap, client_id="test")
        self.sent: list[str] = []
        self._reader: Consumer | None = None

    async def __aenter__(self) -> Self:
        await self.producer.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.producer.close()
        if self._reader is not None:
            self._reader.close()

    async def send(
        self, count: int, *, keys: int = 1, partition: int | None = None, producer: KafkaProducer | None = None
    ) -> list[str]:
        """Send numbers with leading zeros, ascending over the test, with keys in rotation; return them."""
        numbers = range(len(self.sent), len(self.sent) + count)
        values = [f"{number:06d}" for number in numbers]
        self.sent += values
        await (producer or self.producer).send(
            [
                Message(self.topic, f"key-{number % keys}".encode(), value.encode(), partition=partition)
                for number, value in zip(numbers, values, strict=True)
            ]
        )
        return values

    async def read(self, topic: str = "", partition: int = 0, *, at_least: int = 0) -> list[ReceivedMessage]:
        """Return the messages of a partition so far, once it has enough."""
        return await asyncio.to_thread(self._read, TopicPartition(topic or self.topic, partition, 0), at_least)

    def _read(self, begin: TopicPartition, at_least: int) -> list[ReceivedMessage]:
        if self._reader is None:
            self._reader = Consumer(
                {"bootstrap.servers": self.kafka.bootstrap, "group.id": "reads", "enable.partition.eof": True}
            )
        self._reader.assign([begin])
        found: list[ReceivedMessage] = []
        while True:
            message = self._reader.poll(60)
            assert message is not None, f"{begin.topic} has {len(found)} messages"
            if message.error() is None:
                found.append(message)
            elif len(found) >= at_least:
                return found

    async def read_values(self) -> list[str]:
        return [value_of(message).decode() for message in await self.read()]

    async def letters(self, count: int) -> list[ReceivedMessage]:
        """Return the dead letters of the topic, once there are enough."""
        return await self.read(dlq(self.topic), at_least=count)

    async def topic_id(self) -> str:
        return (await self.cluster.topics([self.topic]))[self.topic].topic_id

    async def recreate_topic(self) -> None:
        old = await self.topic_id()
        await self.cluster.remove([self.topic])

        async def is_another() -> bool:
            await self.cluster.ensure([Topic(self.topic, 1, 3_600_000)])
            return await self.topic_id() != old

        await until(is_another)

    def remove_records(self, *, before: int) -> None:
        """Remove the first records of partition 0, as retention does."""
        begin = TopicPartition(self.topic, 0, before)
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap})  # must live until the result is there
        admin.delete_records([begin])[begin].result(60)

    async def restart_broker(self) -> None:
        self.kafka.kill()
        await self.start_broker()

    async def start_broker(self) -> None:
        self.kafka.spawn()
        await asyncio.to_thread(self.kafka.wait_ready, 300)


class DatabaseScene(TopicScene):
    """A topic, and a database with tables."""

    tables: ClassVar[tuple[str, ...]]

    def __init__(self, kafka: EmbeddedKafka, topic: str, database: Database) -> None:
        super().__init__(kafka, topic)
        self.database = database

    async def __aenter__(self) -> Self:
        for table in self.tables:
            await self.execute(table)
        return await super().__aenter__()

    async def execute(self, sql: str, *parameters: object) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(sql, parameters or None)

    async def fetch(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(sql, parameters or None)).fetchall()

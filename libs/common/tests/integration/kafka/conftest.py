"""Fixtures of the Kafka tests: a producer, a ledger of effects, and waiting with a timeout."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as ReceivedMessage
from confluent_kafka.admin import AdminClient

from classifeed_common.db import Database, Tx, ddl
from classifeed_common.kafka import Cluster, KafkaProducer, Message, OrderedConsumer, Record, TablePositions
from classifeed_devkit.embedded.kafka import EmbeddedKafka

Condition = Callable[[], Awaitable[bool]]
Handle = Callable[[Tx, Sequence[Record]], Awaitable[None]]
ReadLetters = Callable[[str, int], list[ReceivedMessage]]


class Send(Protocol):
    """Sends numbered values to a topic; returns the values."""

    def __call__(
        self, topic: str, count: int, *, keys: int = 1, partition: int | None = None
    ) -> Awaitable[list[str]]: ...


class Eventually(Protocol):
    """Waits until a condition holds; fails after a timeout."""

    def __call__(self, condition: Condition, deadline_s: float = 120.0) -> Awaitable[None]: ...


class MakeConsumer(Protocol):
    """Creates a consumer of a topic; `changes` are arguments of OrderedConsumer."""

    def __call__(self, topic: str, **changes: Any) -> OrderedConsumer[Tx]: ...


class RemoveRecords(Protocol):
    """Removes the records of partition 0 before an offset."""

    def __call__(self, topic: str, *, before: int) -> None: ...


class Work(Protocol):
    """A consumer or relay that runs until it is stopped."""

    async def run(self, stop: asyncio.Event) -> None: ...


def value_of(message: ReceivedMessage) -> bytes:
    """Return the value of a message, which must have one."""
    value = message.value()
    assert value is not None
    return value


def headers_of(message: ReceivedMessage) -> dict[str, str | bytes | None]:
    return dict(message.headers() or {})


@dataclass(frozen=True)
class Report:
    """Wrong effects, compared with the sent values."""

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    disordered: tuple[str, ...] = ()


class Ledger:
    """A table without constraints: every effect leaves a row, also a repeated one."""

    def __init__(self, db: Database) -> None:
        self.db = db

    async def write(self, tx: Tx, records: Sequence[Record]) -> None:
        """Write the effect of records, as a handler does."""
        async with tx.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO effects (key, value) VALUES (%s, %s)",
                [((record.key or b"").decode(), record.value.decode()) for record in records],
            )

    async def rows(self) -> list[tuple[str, str]]:
        """Return key and value of every effect, in the order of the effects."""
        async with self.db.connection() as connection:
            cursor = await connection.execute("SELECT key, value FROM effects ORDER BY place")
            return await cursor.fetchall()

    async def values(self) -> list[str]:
        return [value for _, value in await self.rows()]

    async def report(self, sent: Sequence[str]) -> Report:
        """Compare the effects with the sent values: numbers with leading zeros, ascending per key."""
        rows = await self.rows()
        counts = Counter(value for _, value in rows)
        last: dict[str, str] = {}
        disordered = []
        for key, value in rows:
            if value < last.get(key, ""):
                disordered.append(value)
            last[key] = value
        return Report(
            lost=tuple(value for value in sent if value not in counts),
            doubled=tuple(sorted(value for value, count in counts.items() if count > 1)),
            disordered=tuple(disordered),
        )

    def holding(self, values: Sequence[str]) -> Condition:
        """Return the condition that all of `values` have taken effect."""

        async def condition() -> bool:
            return set(values) <= set(await self.values())

        return condition

    async def positions(self, topic: str) -> dict[int, int]:
        """Return the stored positions of a topic by partition."""
        async with self.db.connection() as connection:
            cursor = await connection.execute("SELECT partition, next FROM consumer_offsets WHERE topic = %s", (topic,))
            return dict(await cursor.fetchall())


@pytest.fixture
async def ledger(database: Database) -> Ledger:
    async with database.transaction() as tx:
        await tx.execute(ddl("consumer_offsets", 1))
        await tx.execute("CREATE TABLE effects (place bigint GENERATED ALWAYS AS IDENTITY, key text, value text)")
    return Ledger(database)


@pytest.fixture
async def producer(kafka: EmbeddedKafka) -> AsyncIterator[KafkaProducer]:
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    yield producer
    await producer.close()


@pytest.fixture
def cluster(kafka: EmbeddedKafka) -> Cluster:
    return Cluster(kafka.bootstrap, client_id="test")


@pytest.fixture
def send(producer: KafkaProducer) -> Send:
    """Return a function that sends numbered values to a topic, with keys in rotation, and returns the values."""
    sent = 0

    async def send(topic: str, count: int, *, keys: int = 1, partition: int | None = None) -> list[str]:
        nonlocal sent
        numbers = range(sent, sent + count)
        sent += count
        values = [f"{number:06d}" for number in numbers]
        await producer.send(
            [
                Message(topic, f"key-{number % keys}".encode(), value.encode(), partition=partition)
                for number, value in zip(numbers, values, strict=True)
            ]
        )
        return values

    return send


@pytest.fixture
def eventually() -> Eventually:
    """Return a function that waits until an asynchronous condition holds, and fails after a timeout."""

    async def eventually(condition: Condition, deadline_s: float = 120.0) -> None:
        until = time.monotonic() + deadline_s
        while not await condition():
            assert time.monotonic() < until, f"not within {deadline_s} s"
            await asyncio.sleep(0.02)

    return eventually


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


@pytest.fixture
def consumer(kafka: EmbeddedKafka, ledger: Ledger, topic_prefix: str) -> MakeConsumer:
    """Return a factory of consumers that write the ledger, all of one group."""

    def make(topic: str, **changes: Any) -> OrderedConsumer[Tx]:
        settings: dict[str, Any] = {
            "bootstrap": kafka.bootstrap,
            "group": topic_prefix + "group",
            "topics": [topic],
            "positions": TablePositions(ledger.db),
            "handle": ledger.write,
            "dead_letters": None,
            "session_timeout_s": 6,
            "max_poll_interval_s": 6,
            "max_backoff_s": 0.2,
        }
        return OrderedConsumer(**(settings | changes))

    return make


@pytest.fixture
def remove_records(kafka: EmbeddedKafka) -> RemoveRecords:
    """Return a function that removes the first records of partition 0, as retention does."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})

    def remove(topic: str, *, before: int) -> None:
        place = TopicPartition(topic, 0, before)
        admin.delete_records([place])[place].result(60)

    return remove


@pytest.fixture
def running() -> type[Running]:
    return Running


@pytest.fixture
def read_letters(kafka: EmbeddedKafka) -> ReadLetters:
    """Return a blocking function that reads partition 0 until it has enough records and no more come."""

    def read_letters(topic: str, count: int) -> list[ReceivedMessage]:
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reads", "enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[ReceivedMessage] = []
        try:
            while True:
                message = consumer.poll(60)
                assert message is not None, f"{topic} has {len(found)} records"
                if message.error() is not None:
                    if len(found) >= count:
                        return found
                else:
                    found.append(message)
        finally:
            consumer.close()

    return read_letters

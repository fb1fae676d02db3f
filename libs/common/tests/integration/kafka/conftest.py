"""The scenes: a topic, a group of consumers with its effects, an outbox with relays."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from classifeed_common.db import Database, Tx, ddl
from classifeed_common.kafka import DeadLetters, Message, OrderedConsumer, Record, TablePositions
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.recovery import RECOVERY_LIMIT_S, until
from classifeed_devkit.testing.topics import MakeTopic

from .topic_scene import DatabaseScene, Running, TopicScene

Handle = Callable[[Tx, Sequence[Record]], Awaitable[None]]


@dataclass(frozen=True)
class Report:
    """Wrong effects, compared with the sent values."""

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    disordered: tuple[str, ...] = ()


class ConsumerScene(DatabaseScene):
    """Consumers of one group; each effect is a row of a table without constraints, also a repeated effect."""

    tables = (
        ddl("consumer_offsets", 1),
        "CREATE TABLE effects (place bigint GENERATED ALWAYS AS IDENTITY, key text, value text)",
    )

    def __init__(self, kafka: EmbeddedKafka, topic: str, database: Database) -> None:
        super().__init__(kafka, topic, database)
        self.group = topic + ".group"
        self.dead_letters = DeadLetters(self.producer)

    def consumer(self, **changes: Any) -> OrderedConsumer[Tx]:
        """Return a consumer of the group that writes effects; `changes` are arguments of OrderedConsumer."""
        settings: dict[str, Any] = {
            "bootstrap": self.kafka.bootstrap,
            "group": self.group,
            "topics": [self.topic],
            "positions": TablePositions(self.database),
            "handle": self.write,
            "dead_letters": None,
            "session_timeout_s": 6,
            "max_poll_interval_s": 6,
            "max_backoff_s": 0.2,
        }
        return OrderedConsumer(**(settings | changes))

    def consuming(self, *, ends_with: type[Exception] | None = None, **changes: Any) -> Running:
        return Running(self.consumer(**changes), ends_with=ends_with)

    async def consume(self, **changes: Any) -> None:
        """Run a consumer until everything that was sent has taken effect."""
        async with self.consuming(**changes):
            await self.handled()

    async def consume_until(self, error: type[Exception], **changes: Any) -> str:
        """Run a consumer that ends with an error; return the error's message."""
        async with self.consuming(ends_with=error, **changes) as running:
            pass
        return str(running.ended_with)

    async def write(self, tx: Tx, records: Sequence[Record]) -> None:
        """Write the effect of records, as a handler does."""
        async with tx.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO effects (key, value) VALUES (%s, %s)",
                [((record.key or b"").decode(), record.value.decode()) for record in records],
            )

    async def rows(self) -> list[tuple[str, str]]:
        """Return key and value of every effect, in the order of the effects."""
        return await self.fetch("SELECT key, value FROM effects ORDER BY place")

    async def effects(self) -> list[str]:
        return [value for _, value in await self.rows()]

    async def handled(self, values: Sequence[str] | None = None, within_s: float = RECOVERY_LIMIT_S) -> None:
        """Wait until the values have taken effect; None: everything that was sent."""

        async def is_handled() -> bool:
            return set(self.sent if values is None else values) <= set(await self.effects())

        await until(is_handled, within_s)

    async def report(self) -> Report:
        """Compare the effects with the sent values, which ascend per key."""
        rows = await self.rows()
        counts = Counter(value for _, value in rows)
        last: dict[str, str] = {}
        disordered = []
        for key, value in rows:
            if value < last.get(key, ""):
                disordered.append(value)
            last[key] = value
        return Report(
            lost=tuple(value for value in self.sent if value not in counts),
            doubled=tuple(sorted(value for value, count in counts.items() if count > 1)),
            disordered=tuple(disordered),
        )

    async def positions(self) -> dict[int, int]:
        """Return the stored positions of the topic by partition."""
        return dict(await self.fetch("SELECT partition, next FROM consumer_offsets WHERE topic = %s", self.topic))

    async def set_positions(self, offset: int) -> None:
        await self.execute("UPDATE consumer_offsets SET next = %s WHERE topic = %s", offset, self.topic)

    async def reached(self, positions: dict[int, int]) -> None:
        """Wait until the group has stored these positions."""

        async def is_reached() -> bool:
            return await self.positions() == positions

        await until(is_reached)


class OutboxScene(DatabaseScene):
    """An outbox, and relays that send its messages to the topic."""

    tables = (
        ddl("outbox", 1),
        ddl("leases", 1),
        "CREATE TABLE things (name text PRIMARY KEY, version int NOT NULL)",
    )

    def __init__(self, kafka: EmbeddedKafka, topic: str, database: Database) -> None:
        super().__init__(kafka, topic, database)
        self.outbox = Outbox()

    async def put(self, *values: str, shard: int = 0) -> None:
        """Put messages for the topic into the outbox, in one transaction."""
        async with self.database.transaction() as tx:
            await self.put_in(tx, *values, shard=shard)

    async def put_in(self, tx: Tx, *values: str, key: str = "k", shard: int = 0) -> None:
        """Put messages for the topic into the outbox, in a transaction of the caller."""
        await self.outbox.put(tx, [Message(self.topic, key.encode(), value.encode()) for value in values], shard=shard)

    def relay(
        self, holder: str = "one", ttl_s: float = 60, *, send: Callable[..., Any] | None = None, **changes: Any
    ) -> Relay:
        """Return a relay that sends with `send`; None: with the producer. `changes` are arguments of Relay."""
        settings: dict[str, Any] = {"outbox": self.outbox, "max_backoff_s": 0.2} | changes
        producer: Any = SimpleNamespace(send=send) if send else self.producer
        return Relay(self.database, producer, Leases(self.database, holder, ttl_s), **settings)

    def relaying(self, holder: str = "one", ttl_s: float = 60, **changes: Any) -> Running:
        return Running(self.relay(holder, ttl_s, **changes))

    async def relay_all(self, **changes: Any) -> None:
        """Run a relay until the outbox is empty."""
        async with self.relaying(**changes):
            await self.emptied()

    async def emptied(self, within_s: float = RECOVERY_LIMIT_S) -> None:
        """Wait until shard 0 of the outbox is empty."""

        async def is_empty() -> bool:
            return await self.relay().backlog() == 0

        await until(is_empty, within_s)

    async def waiting(self) -> int:
        """Return the number of messages in the outbox."""
        [(count,)] = await self.fetch("SELECT count(*) FROM outbox")
        return int(count)

    async def arrived(self, count: int) -> None:
        """Wait until the topic has messages."""

        async def has_arrived() -> bool:
            return len(await self.read()) >= count

        await until(has_arrived)


@pytest.fixture
async def topic(request: pytest.FixtureRequest, make_topic: MakeTopic) -> str:
    """Create a topic with one partition, or with the number in the test's mark `partitions`."""
    mark = request.node.get_closest_marker("partitions")
    return await make_topic(partitions=mark.args[0] if mark else 1)


@pytest.fixture
async def topic_scene(kafka: EmbeddedKafka, topic: str) -> AsyncIterator[TopicScene]:
    async with TopicScene(kafka, topic) as scene:
        yield scene


@pytest.fixture
async def scene(kafka: EmbeddedKafka, topic: str, database: Database) -> AsyncIterator[ConsumerScene]:
    async with ConsumerScene(kafka, topic, database) as scene:
        yield scene


@pytest.fixture
async def outbox_scene(kafka: EmbeddedKafka, topic: str, database: Database) -> AsyncIterator[OutboxScene]:
    async with OutboxScene(kafka, topic, database) as scene:
        yield scene


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "partitions(count): partitions of the scene's topic; one if not given")

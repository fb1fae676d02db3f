"""Topics for tests: names that no other test has, made on the session's Kafka and removed at the end of the test; and
those that a service always has, read behind what earlier tests have sent.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import pytest
from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient

from classifeed_common.db import Database
from classifeed_common.embedded.kafka import EmbeddedKafka
from classifeed_common.kafka import Cluster, Topic, dlq
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.table_positions import TablePositions

_RETENTION_MS = 60 * 60 * 1000


class MakeTopic(Protocol):
    """Makes a topic and its dead letter topic; returns the topic's name, known to one test alone."""

    def __call__(self, name: str = "records", *, partitions: int = 1) -> Awaitable[str]:
        """Make the topic `name` below the test's prefix."""
        ...


@pytest.fixture
def topic_prefix() -> str:
    """Return what the names of this test's topics and groups begin with."""
    return f"t{uuid.uuid4().hex[:12]}."


@pytest.fixture
def unique_topic(topic_prefix: str) -> Callable[[str], str]:
    """Return a factory of topic names that no other test has; nothing is made."""
    return lambda name: topic_prefix + name


@pytest.fixture
async def make_topic(kafka: EmbeddedKafka, topic_prefix: str) -> AsyncIterator[MakeTopic]:
    """Yield a factory of topics: `await make_topic(partitions=4)`; they and their dead letter topics go with the
    test.
    """
    cluster = Cluster(kafka.bootstrap, client_id="make-topic")
    made: list[str] = []

    async def make(name: str = "records", *, partitions: int = 1) -> str:
        topic = Topic(topic_prefix + name, partitions, _RETENTION_MS)
        letters = Topic(dlq(topic.name), 1, _RETENTION_MS)
        made.extend((topic.name, letters.name))
        await cluster.ensure([topic, letters])
        return topic.name

    yield make
    await cluster.remove(made)


async def begin_at_ends(database: Database, bootstrap: str, group: str, topic: str) -> None:
    """Have a group begin behind what a topic holds now: a new database would read what other tests have sent."""
    cluster = Cluster(bootstrap, client_id="begin-at-ends")
    state = (await cluster.topics([topic]))[topic]
    ends = await cluster.ends([(topic, partition) for partition in range(state.partitions)])
    positions = {GroupPartition(group, *part): Position(state.topic_id, end) for part, end in ends.items()}
    await TablePositions(database).begin(positions)


async def forget_records(bootstrap: str, topic: str) -> None:
    """Remove all that a topic holds, as its retention does; what comes then has the next offsets."""
    partitions = (await Cluster(bootstrap, client_id="forget-records").topics([topic]))[topic].partitions
    admin = AdminClient({"bootstrap.servers": bootstrap})
    removed = admin.delete_records([TopicPartition(topic, at, OFFSET_END) for at in range(partitions)])
    for each in removed.values():
        await asyncio.to_thread(each.result, 60)

"""Kafka topics for tests: unique ones, removed after the test, and a service's topics without old records."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import pytest
from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient

from classifeed_common.db import Database
from classifeed_common.kafka import Cluster, Topic, dlq
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.table_positions import TablePositions
from classifeed_devkit.embedded.kafka import EmbeddedKafka

_RETENTION_MS = 60 * 60 * 1000


class MakeTopic(Protocol):
    """Creates a topic and its dead letter topic; returns the topic's unique name."""

    def __call__(self, name: str = "records", *, partitions: int = 1) -> Awaitable[str]:
        """Create the topic `name` below the test's prefix."""
        ...


@pytest.fixture
def topic_prefix() -> str:
    """Return the prefix of the names of this test's topics and groups."""
    return f"t{uuid.uuid4().hex[:12]}."


@pytest.fixture
def unique_topic(topic_prefix: str) -> Callable[[str], str]:
    """Return a factory of unique topic names; no topic is created."""
    return lambda name: topic_prefix + name


@pytest.fixture
async def make_topic(kafka: EmbeddedKafka, topic_prefix: str) -> AsyncIterator[MakeTopic]:
    """Yield a factory of topics: `await make_topic(partitions=4)`; removed at the end of the test."""
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
    """Let a group begin at the end of a topic: with a new database it would read the records of other tests."""
    cluster = Cluster(bootstrap, client_id="begin-at-ends")
    state = (await cluster.topics([topic]))[topic]
    ends = await cluster.ends([(topic, partition) for partition in range(state.partitions)])
    positions = {GroupPartition(group, *part): Position(state.topic_id, end) for part, end in ends.items()}
    await TablePositions(database).begin(positions)


async def forget_records(bootstrap: str, topic: str) -> None:
    """Remove all records of a topic, as its retention does; later records have the next offsets."""
    partitions = (await Cluster(bootstrap, client_id="forget-records").topics([topic]))[topic].partitions
    admin = AdminClient({"bootstrap.servers": bootstrap})
    removed = admin.delete_records([TopicPartition(topic, at, OFFSET_END) for at in range(partitions)])
    for each in removed.values():
        await asyncio.to_thread(each.result, 60)

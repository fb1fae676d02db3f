"""Cluster and ensure_topics against real Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka import Cluster, Topic, dlq, ensure_topics
from classifeed_devkit.embedded.kafka import EmbeddedKafka

from .topic_scene import TopicScene

pytestmark = pytest.mark.kafka


@pytest.fixture
def cluster(kafka: EmbeddedKafka) -> Cluster:
    return Cluster(kafka.bootstrap, client_id="test")


@pytest.fixture
async def name(topic_prefix: str, cluster: Cluster) -> AsyncIterator[str]:
    yield topic_prefix + "made"
    await cluster.remove([topic_prefix + "made", dlq(topic_prefix + "made")])


async def test_declared_topics_are_made_with_their_dead_letters(
    kafka: EmbeddedKafka, cluster: Cluster, name: str
) -> None:
    await ensure_topics(kafka.bootstrap, [Topic(name, 3, 60_000)])
    states = await cluster.topics([name, dlq(name), name + ".absent"])
    assert {topic: state.partitions for topic, state in states.items()} == {name: 3, dlq(name): 1}


async def test_making_again_changes_nothing(kafka: EmbeddedKafka, cluster: Cluster, name: str) -> None:
    await ensure_topics(kafka.bootstrap, [Topic(name, 3, 60_000)])
    before = await cluster.topics([name])
    await ensure_topics(kafka.bootstrap, [Topic(name, 3, 60_000)])
    assert await cluster.topics([name]) == before


async def test_another_number_of_partitions_is_told_not_changed(
    kafka: EmbeddedKafka, cluster: Cluster, name: str
) -> None:
    await ensure_topics(kafka.bootstrap, [Topic(name, 3, 60_000)])
    with pytest.raises(FailedPrecondition, match="has 3 partitions, declared are 4") as refused:
        await ensure_topics(kafka.bootstrap, [Topic(name, 4, 60_000)])
    assert "lag 0" in str(refused.value)
    assert (await cluster.topics([name]))[name].partitions == 3


async def test_a_topic_made_again_has_another_id(cluster: Cluster, kafka: EmbeddedKafka, name: str) -> None:
    await cluster.ensure([Topic(name, 1, 60_000)])
    first = (await cluster.topics([name]))[name].topic_id
    await cluster.remove([name])
    await cluster.remove([name])
    await cluster.ensure([Topic(name, 1, 60_000)])
    assert (await cluster.topics([name]))[name].topic_id != first


@pytest.mark.partitions(2)
async def test_starts_and_ends_of_logs(topic_scene: TopicScene) -> None:
    topic, cluster = topic_scene.topic, topic_scene.cluster
    await topic_scene.send(5, partition=0)
    topic_scene.remove_records(before=2)
    parts = [(topic, 0), (topic, 1)]
    assert await cluster.starts(parts) == {(topic, 0): 2, (topic, 1): 0}
    assert await cluster.ends(parts) == {(topic, 0): 5, (topic, 1): 0}
    assert await cluster.ends([]) == {}


@pytest.mark.slow
async def test_a_cluster_that_lived_through_a_restart_of_the_broker_still_knows_the_ends(
    topic_scene: TopicScene,
) -> None:
    topic, cluster = topic_scene.topic, topic_scene.cluster
    await topic_scene.send(3, partition=0)
    assert await cluster.ends([(topic, 0)]) == {(topic, 0): 3}
    await topic_scene.restart_broker()
    assert await cluster.ends([(topic, 0)]) == {(topic, 0): 3}
    assert await cluster.starts([(topic, 0)]) == {(topic, 0): 0}

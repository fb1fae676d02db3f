"""`migrate --grow TOPIC`: adds partitions to a topic that the service reads."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from classifeed_common.errors import DomainError
from classifeed_common.kafka.topics.cluster import Cluster
from classifeed_common.kafka.topics.growth import TopicGrowth
from classifeed_common.kafka.topics.topics import Topic
from classifeed_common.runner.listening import StartError, say
from classifeed_common.runner.parts import database_of
from classifeed_common.settings import ServiceSettings


def grow_topic(settings: ServiceSettings, growable: Mapping[Topic, Collection[str]], name: str) -> int:
    """Grow a topic, print the result or the obstacle, and return the exit code.

    Args:
        settings: settings of the service.
        growable: declarations of the topics that it reads, with its groups.
        name: name of one of them.

    Raises:
        StartError: the service does not read this topic.
    """
    topic = next((each for each in growable if each.name == name), None)
    if topic is None:
        known = ", ".join(sorted(each.name for each in growable)) or "none"
        raise StartError(f"this service does not grow topic {name}; those that it does are: {known}")
    try:
        say(asyncio.run(_grow(settings, topic, frozenset(growable[topic]))))
    except DomainError as error:
        say(error.message)
        return 1
    return 0


async def _grow(settings: ServiceSettings, topic: Topic, groups: frozenset[str]) -> str:
    database = database_of(settings)
    await database.open()
    try:
        cluster = Cluster(settings.kafka_bootstrap, client_id=f"{settings.service_name()}-grow")
        return await TopicGrowth(cluster, database).grow(topic, groups)
    finally:
        await database.close()

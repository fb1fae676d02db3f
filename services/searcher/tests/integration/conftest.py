from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from classifeed_common.kafka import Cluster, Topic
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.recovery import until
from classifeed_domain.document_shards import SHARDS

from ..conftest import Upstream, make_upsert


@dataclass
class Scene:
    """The receiver, an indexer, the topic of a client, and the searchers that read it.

    Attributes:
        start_indexer: starts the indexer.
        open_searcher: opens a searcher over a folder; an earlier one of this folder must have ended.
        forget_topic: removes the records of the topic, as its retention does after a week.
    """

    upstream: Upstream
    kafka: EmbeddedKafka
    topic: str
    start_indexer: Callable[[], Awaitable[None]]
    open_searcher: Callable[..., Any]
    forget_topic: Callable[[], Awaitable[None]]

    async def push_many(self, numbers: Iterable[int], version: int = 1) -> None:
        """Push documents k0, k1, and so on."""
        await self.upstream.push(*[make_upsert(f"k{number}", version) for number in numbers])

    async def deliver(self, count: int) -> None:
        """Put the schema and so many documents, and start the indexer."""
        await self.upstream.put_schema()
        await self.push_many(range(count))
        await self.start_indexer()

    async def make_topic_again(self) -> Cluster:
        """Remove the topic and create it without records."""
        cluster = Cluster(self.kafka.bootstrap, client_id="test")
        await cluster.remove([self.topic])

        async def is_gone() -> bool:
            return not await cluster.topics([self.topic])

        await until(is_gone, 60)
        await cluster.ensure([Topic(self.topic, SHARDS, 3_600_000)])
        return cluster


@pytest.fixture
def scene(
    upstream: Upstream,
    kafka: EmbeddedKafka,
    topic: str,
    deliver: Callable[[], Awaitable[None]],
    open_searcher: Callable[..., Any],
    forget_topic: Callable[[], Awaitable[None]],
) -> Scene:
    return Scene(upstream, kafka, topic, deliver, open_searcher, forget_topic)

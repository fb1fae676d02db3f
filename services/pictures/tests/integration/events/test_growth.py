"""The topic of events gets more partitions while requests arrive: no event is lost, and the order per URL is kept.

From 4 to 6 partitions by default, from 64 to 96 with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka import Cluster, KafkaProducer, Topic
from classifeed_common.kafka.topics.growth import TopicGrowth
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import MakeTopic
from classifeed_pictures.domain.urls.canonical import shard_of

from ..keys.conftest import read_all
from .growing import Instance

_BEFORE, _AFTER = (64, 96) if IS_LONG else (4, 6)
_URLS, _REQUESTS = (2_000, 40_000) if IS_LONG else (60, 1_200)
_WAITS = {} if IS_LONG else {"quiet_s": 0.2, "settle_s": 0.2}
_LIMIT_S = 600.0
Make = Callable[[str, int], Awaitable[Instance]]
pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1800 if IS_LONG else 300)]


@pytest.fixture
async def make(migrated_database: MigratedDatabase, kafka: EmbeddedKafka, make_topic: MakeTopic) -> AsyncIterator[Make]:
    """Yield a factory of instances, by the names of their topics and the partitions for events."""
    producers = []

    async def make(name: str, partitions: int) -> Instance:
        producers.append(KafkaProducer(kafka.bootstrap, client_id="test"))
        await producers[-1].start()
        instance = Instance(
            bootstrap=kafka.bootstrap,
            database=await migrated_database("classifeed_pictures"),
            producer=producers[-1],
            cluster=Cluster(kafka.bootstrap, client_id="test"),
            requests=await make_topic(f"{name}-requests", partitions=4),
            loads=await make_topic(f"{name}-loads", partitions=4),
            events=await make_topic(f"{name}-events", partitions=partitions),
            urls=_URLS,
        )
        await instance.make_table()
        return instance

    yield make
    for producer in producers:
        await producer.close()


@asynccontextmanager
async def load(instance: Instance) -> AsyncIterator[asyncio.Task[None]]:
    """Request pictures and carry out orders continuously; yield a function that ends it after the last request."""

    async def request() -> None:
        while instance.sent < _REQUESTS:
            if instance.sent >= _REQUESTS * 9 // 10:
                await instance.may_end.wait()
            while instance.sent - len(instance.results) > _REQUESTS // 5:  # it lasts as long as there are results
                await asyncio.sleep(0.01)
            await instance.request(min(_REQUESTS // 60, _REQUESTS - instance.sent))
            await asyncio.sleep(0.03)

    orders = asyncio.create_task(instance.carry_out())
    try:
        yield asyncio.create_task(request())
    finally:
        orders.cancel()
        await asyncio.gather(orders, return_exceptions=True)


async def come_to_the_end(instance: Instance, loading: asyncio.Task[None]) -> None:
    instance.may_end.set()
    await loading

    async def has_all() -> bool:
        if len(instance.results) < _REQUESTS:
            return False
        return await instance.is_read(instance.resharders, instance.requests, instance.loads) and (
            await instance.is_read(instance.processors, instance.events)
        )

    await until(has_all, within_s=_LIMIT_S)


@in_campaigns
async def test_more_partitions_for_events_under_load(make: Make) -> None:
    undisturbed = await make("undisturbed", _AFTER)
    async with load(undisturbed) as loading, running(undisturbed.processor()), undisturbed.resharding(_AFTER):
        await come_to_the_end(undisturbed, loading)

    grown = await make("grown", _BEFORE)
    growth = TopicGrowth(grown.cluster, grown.database, **_WAITS)
    under_load = TopicGrowth(grown.cluster, grown.database, quiet_s=3)  # longer than the load ever pauses
    topic, groups = Topic(grown.events, _AFTER, 3_600_000), frozenset({grown.processors})
    async with load(grown) as loading, running(grown.processor()):
        async with grown.resharding(_BEFORE):
            await until(lambda: len(grown.results) > _REQUESTS // 10, within_s=_LIMIT_S)
            with pytest.raises(FailedPrecondition) as refused:
                await under_load.grow(topic, groups)
            assert refused.value.reason in {"GROUP_BEHIND", "TOPIC_BUSY"}
        await until(lambda: grown.is_read(grown.processors, grown.events), within_s=_LIMIT_S)
        before = await grown.cluster.ends([(grown.events, at) for at in range(_BEFORE)])
        assert f"has {_AFTER} partitions now" in await growth.grow(topic, groups)
        async with grown.resharding(_AFTER):
            await come_to_the_end(grown, loading)

    numbers = list(range(_REQUESTS // _URLS))
    for instance in (undisturbed, grown):
        assert {url: list(dict.fromkeys(found)) for url, found in (await instance.handled()).items()} == dict.fromkeys(
            (f"http://shop.example/{url}" for url in range(_URLS)), numbers
        )
    assert await grown.states() == await undisturbed.states()
    assert grown.results == undisturbed.results
    await check_places(grown, {at: end for (_, at), end in before.items()})


async def check_places(grown: Instance, before: dict[int, int]) -> None:
    """Check that each event is in the partition of its key when it was sent, and that some keys have moved."""
    moved = set()
    for message in await asyncio.to_thread(read_all, grown.bootstrap, grown.events):
        key, partition = message.key(), message.partition()
        is_old = message.offset() < before.get(partition, 0)
        assert partition == shard_of(key, _BEFORE if is_old else _AFTER)
        if shard_of(key, _BEFORE) != shard_of(key, _AFTER):
            moved.add(key)
    assert moved

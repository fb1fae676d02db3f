"""librdkafka clients that read nothing and do not notice are replaced, but never while that would do harm."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from confluent_kafka import Consumer

from classifeed_common.kafka.consuming import consumer as consumer_module
from classifeed_common.kafka.consuming import membership as membership_module
from classifeed_common.kafka.consuming.membership import Membership
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_devkit.testing.recovery import until

from .conftest import ConsumerScene, Report
from .topic_scene import Running, TopicScene

pytestmark = pytest.mark.kafka


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_module, "_SHORTEST_MAX_WAIT_S", 0.5)
    monkeypatch.setattr(consumer_module, "_STARVING_S", 0.5)
    monkeypatch.setattr(membership_module, "_PROBE_EVERY_S", 0.1)
    monkeypatch.setattr("classifeed_common.kafka.consuming.lag._EVERY_S", 0.1)


@pytest.mark.slow
@pytest.mark.partitions(2)
async def test_a_client_that_left_its_group_is_replaced(hurry: None, scene: ConsumerScene) -> None:
    await scene.send(10, keys=4)
    subject = scene.consumer()
    async with Running(subject):
        await scene.handled()
        # A lost membership looks like this: the group revokes, and nothing follows.
        await subject._reader._in_thread(subject._reader._client.unsubscribe)
        await scene.send(10, keys=4)
        await scene.handled()
    assert await scene.report() == Report()


@pytest.mark.slow
@pytest.mark.partitions(2)
async def test_a_client_without_a_group_that_gets_nothing_is_replaced(hurry: None, scene: ConsumerScene) -> None:
    await scene.send(10, keys=4)
    subject = scene.consumer(assign_all=True)
    async with Running(subject):
        await scene.handled()
        # A client that lost its brokers looks like this: it polls, and nothing comes.
        await subject._reader._in_thread(subject._reader._client.unassign)
        await scene.send(10, keys=4)
        await scene.handled()
    assert await scene.report() == Report()


class Idle:
    """A reader without an assignment; counts how often it is reopened."""

    joined = False
    reopened = 0

    async def reopen(self) -> None:
        self.reopened += 1


@pytest.mark.parametrize("is_reachable", [False, True])
async def test_time_in_which_the_brokers_are_away_does_not_count(
    monkeypatch: pytest.MonkeyPatch, is_reachable: bool
) -> None:
    monkeypatch.setattr(membership_module, "_PROBE_EVERY_S", 0.0)
    probes = 0

    def probe(_: str) -> bool:
        nonlocal probes
        probes += 1
        return is_reachable

    monkeypatch.setattr(membership_module, "are_brokers_reachable", probe)
    reader = Idle()
    membership = Membership(cast("PartitionReader", reader), "127.0.0.1:1", "g", max_wait_s=0.0)
    async with asyncio.timeout(60):
        while probes < 5:
            await membership.keep(starves=False)
            await asyncio.sleep(0)
    await membership.close()
    assert bool(reader.reopened) == is_reachable


async def test_the_patience_grows_with_each_replacement_and_a_group_that_knows_us_resets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(membership_module, "_PROBE_EVERY_S", 0.0)
    monkeypatch.setattr(membership_module, "are_brokers_reachable", lambda _: True)
    reader = Idle()
    membership = Membership(cast("PartitionReader", reader), "127.0.0.1:1", "g", max_wait_s=0.01)
    async with asyncio.timeout(60):
        while reader.reopened < 3:
            await membership.keep(starves=False)
            await asyncio.sleep(0.001)
    assert membership._max_wait_s == 0.08
    reader.joined = True
    await membership.keep(starves=False)
    assert membership._max_wait_s == 0.01
    await membership.close()


def partition_reader(scene: TopicScene) -> PartitionReader:
    return PartitionReader(
        bootstrap=scene.kafka.bootstrap,
        group=scene.topic + ".group",
        topics=[scene.topic],
        subscribed=True,
        session_timeout_s=6,
        max_poll_interval_s=60,
    )


@pytest.mark.partitions(2)
async def test_offsets_of_an_assignment_that_changed_hands_are_not_read_from(topic_scene: TopicScene) -> None:
    """The group may revoke the partitions while positions are loaded; an `assign` after that would keep them."""
    topic, reader = topic_scene.topic, partition_reader(topic_scene)
    await reader.open()
    try:

        async def assigned() -> bool:
            await reader.poll(1, 0.1)
            return len(reader.assigned) == 2

        await until(assigned)
        offsets = {(topic, 0): 0, (topic, 1): 0}
        await reader.read_from(reader.generation - 1, offsets)
        assert reader._client.assignment() == []
        await reader.read_from(reader.generation, offsets, paused=[(topic, 1)])
        assert len(reader._client.assignment()) == 2
    finally:
        await reader.close()


async def test_at_most_one_commit_is_under_way(topic_scene: TopicScene) -> None:
    """A rebalance waits for every earlier commit; a broker that was paused would delay it by all of them."""
    topic, reader = topic_scene.topic, partition_reader(topic_scene)
    commits: list[object] = []

    class Client:
        def commit(self, *, offsets: object, asynchronous: bool) -> None:
            commits.append(offsets)

    reader._consumer = cast("Consumer", Client())
    for _ in range(3):
        await reader.show({(topic, 0): 1})
    assert len(commits) == 1
    reader._on_commit(None, [])
    await reader.show({(topic, 0): 2})
    assert len(commits) == 2

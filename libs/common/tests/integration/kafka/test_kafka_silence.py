"""OrderedConsumer, its positions and Relay on connections to PostgreSQL that stay open and give no response."""

from __future__ import annotations

import psycopg
import pytest

from classifeed_common.db import is_passing_fault
from classifeed_common.kafka import GroupPartition, Position, TablePositions
from classifeed_common.lease import Leases
from classifeed_common.outbox import Relay
from classifeed_devkit.testing.recovery import Stopwatch
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy

from .conftest import ConsumerScene, OutboxScene, Report
from .topic_scene import Running

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.mark.partitions(3)
async def test_effects_go_on_after_a_silence_once_each_and_in_order(
    scene: ConsumerScene, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    positions = TablePositions(await proxied_database(), effect_limit_s=3600)
    async with scene.consuming(positions=positions):
        await scene.send(300, keys=6)
        await scene.handled()
        silenced = postgres_proxy.silence_existing()
        assert silenced
        watch = Stopwatch("OrderedConsumer")
        await scene.send(300, keys=6)
        await scene.handled()
        watch.stop()
    assert await scene.report() == Report()


async def test_an_effect_whose_commit_was_lost_does_not_hold_up_the_next(
    scene: ConsumerScene, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    """The rows of positions are locked by a session that waits for its client, whose messages are lost."""
    part = GroupPartition("group", "topic", 0)
    begun, moved = {part: Position("id", 0)}, {part: Position("id", 5)}
    positions = TablePositions(await proxied_database(idle_in_transaction_s=3600), effect_limit_s=3600)
    await positions.begin(begun)
    silenced = 0

    async def effect() -> None:
        nonlocal silenced
        async with positions.effect(begun, moved) as tx:
            await tx.execute("INSERT INTO effects (key, value) VALUES ('k', 'v')")
            silenced = silenced or postgres_proxy.silence_existing()

    watch = Stopwatch("an effect by itself")
    for _ in range(2):
        try:
            await effect()
        except psycopg.OperationalError as error:
            assert is_passing_fault(error)
    watch.stop()
    assert await scene.rows() == [("k", "v")]
    assert await positions.load([part]) == moved


async def test_a_relay_goes_on_after_a_silence(
    outbox_scene: OutboxScene, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    scene, proxied = outbox_scene, await proxied_database()
    async with Running(Relay(proxied, scene.producer, Leases(proxied, "silent", 20), max_backoff_s=0.2)):
        await scene.put("before")
        await scene.emptied()
        postgres_proxy.silence_existing()
        watch = Stopwatch("relay")
        await scene.put("after")
        await scene.emptied()
        watch.stop()
    assert (await scene.cluster.ends([(scene.topic, 0)]))[scene.topic, 0] >= 2

"""OrderedConsumer, its positions and Relay on connections to PostgreSQL that stay open and give no response."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from classifeed_common.db import Database, ddl, is_passing_fault
from classifeed_common.kafka import Cluster, GroupPartition, KafkaProducer, Message, Position, TablePositions
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_devkit.testing.recovery import Stopwatch, until
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import Ledger, MakeConsumer, Running, Send

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def test_effects_go_on_after_a_silence_once_each_and_in_order(
    ledger: Ledger,
    consumer: MakeConsumer,
    running: type[Running],
    make_topic: MakeTopic,
    send: Send,
    proxied_database: ProxiedDatabase,
    postgres_proxy: TcpProxy,
) -> None:
    topic = await make_topic(partitions=3)
    reading = consumer(topic, positions=TablePositions(await proxied_database(), effect_limit_s=3600))
    async with running(reading):
        sent = await send(topic, 300, keys=6)
        await until(ledger.holding(sent))
        silenced = postgres_proxy.silence_existing()
        assert silenced
        watch = Stopwatch("OrderedConsumer")
        sent += await send(topic, 300, keys=6)
        await until(ledger.holding(sent))
        watch.stop()
    report = await ledger.report(sent)
    assert (report.lost, report.doubled, report.disordered) == ((), (), ())


async def test_an_effect_whose_commit_was_lost_does_not_hold_up_the_next(
    ledger: Ledger, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
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
    assert await ledger.rows() == [("k", "v")]
    assert await positions.load([part]) == moved


async def test_a_relay_goes_on_after_a_silence(
    database: Database,
    producer: KafkaProducer,
    cluster: Cluster,
    make_topic: MakeTopic,
    proxied_database: ProxiedDatabase,
    postgres_proxy: TcpProxy,
) -> None:
    topic = await make_topic()
    async with database.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await tx.execute(ddl("leases", 1))
    outbox, proxied = Outbox(), await proxied_database()
    relay = Relay(proxied, producer, Leases(proxied, "silent", 20), max_backoff_s=0.2)
    stop = asyncio.Event()
    sending = asyncio.create_task(relay.run(stop))

    async def put(value: bytes) -> None:
        async with database.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", value)])

    async def is_empty() -> bool:
        return await Relay(database, producer, Leases(database, "looks", 20)).backlog() == 0

    await put(b"before")
    await until(is_empty)
    postgres_proxy.silence_existing()
    watch = Stopwatch("relay")
    await put(b"after")
    await until(is_empty)
    watch.stop()
    stop.set()
    await sending
    assert (await cluster.ends([(topic, 0)]))[topic, 0] >= 2

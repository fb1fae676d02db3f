"""Faults that stop or block an OrderedConsumer, and records that it skips, each on purpose and with a message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from classifeed_common.db import Tx
from classifeed_common.kafka import (
    Cluster,
    DeadLetters,
    KafkaProducer,
    LogLost,
    OffsetOutsideLog,
    Poison,
    Record,
    TablePositions,
    Topic,
    TopicRecreated,
    dlq,
)
from classifeed_common.kafka.consuming import consumer as consumer_module
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.telemetry import metrics
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import (
    Eventually,
    Handle,
    Ledger,
    MakeConsumer,
    ReadLetters,
    RemoveRecords,
    Running,
    Send,
    headers_of,
    value_of,
)

pytestmark = pytest.mark.kafka


async def recreate(cluster: Cluster, topic: str) -> None:
    old = (await cluster.topics([topic]))[topic].topic_id
    await cluster.remove([topic])
    async with asyncio.timeout(120):
        while True:
            await cluster.ensure([Topic(topic, 1, 3_600_000)])
            if (await cluster.topics([topic]))[topic].topic_id != old:
                return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("count", [9, 2])  # with 9 the old offset lies inside the new log, with 2 outside
async def test_recreated_topic_stops_the_start(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
    topic_prefix: str,
    count: int,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    await recreate(cluster, topic)
    await send(topic, count)
    async with running(consumer(topic), ends_with=TopicRecreated) as work:
        pass
    words = str(work.ended_with)
    for word in (topic, f"group {topic_prefix}group", "offset 5", "test.consumer_offsets", "remove the positions"):
        assert word in words
    assert await ledger.values() == sent


async def test_recreated_topic_stops_a_running_consumer(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic), ends_with=TopicRecreated):
        await eventually(ledger.holding(sent))
        await recreate(cluster, topic)
        await send(topic, 9)
    assert await ledger.values() == sent


async def test_recreated_topic_as_long_as_the_old_one_is_noticed_without_a_record(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer_module, "_COMPARE_EVERY_S", 0.2)
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic), ends_with=TopicRecreated):
        await eventually(ledger.holding(sent))

        async def read_nothing(self: PartitionReader, max_records: int, timeout_s: float) -> list[Record]:
            # As if the topic was missing for a shorter time than the client's refresh.
            await asyncio.sleep(0.05)
            return []

        monkeypatch.setattr(PartitionReader, "poll", read_nothing)
        await recreate(cluster, topic)
        await send(topic, 5)


async def test_recreated_topic_begins_anew_after_the_remedy(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    await recreate(cluster, topic)
    sent += await send(topic, 3)
    async with ledger.db.transaction() as tx:
        await tx.execute("DELETE FROM consumer_offsets WHERE topic = %s", (topic,))
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


async def test_records_removed_by_retention_stop_the_start(
    remove_records: RemoveRecords,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    await send(topic, 5)
    remove_records(topic, before=8)
    async with running(consumer(topic), ends_with=OffsetOutsideLog) as work:
        pass
    for word in (f"{topic}[0]", "offset 5", "from 8 to 10", "3 records were removed unread", "set next to 8"):
        assert word in str(work.ended_with)
    assert await ledger.values() == sent
    assert await ledger.positions(topic) == {0: 5}


async def test_records_removed_under_a_running_consumer_stop_it(
    remove_records: RemoveRecords,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 1)
    blocked, go_on = asyncio.Event(), asyncio.Event()

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        blocked.set()
        if not go_on.is_set():
            raise ConnectionError("away")
        await ledger.write(tx, records)

    async with running(consumer(topic, handle=handle), ends_with=OffsetOutsideLog) as work:
        await blocked.wait()
        await send(topic, 9)
        remove_records(topic, before=5)
        go_on.set()
    assert "4 records were removed unread" in str(work.ended_with)
    assert await ledger.values() == sent


@pytest.mark.parametrize("lost", ["removed", "recreated", "past the end"])
async def test_a_consumer_whose_senders_ask_again_goes_on_where_the_log_can_be_read(
    remove_records: RemoveRecords,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
    topic_prefix: str,
    lost: str,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    skipped = metrics.LOST_RECORDS.labels(topic_prefix + "group", topic)
    before = skipped._value.get()
    if lost == "removed":
        await send(topic, 5)
        remove_records(topic, before=8)
    elif lost == "recreated":
        await recreate(cluster, topic)
    else:
        async with ledger.db.transaction() as tx:
            await tx.execute("UPDATE consumer_offsets SET next = 50 WHERE topic = %s", (topic,))
    positions = TablePositions(ledger.db)
    async with running(consumer(topic, positions=positions, on_log_lost=positions.skip_lost)):
        end = (await cluster.ends([(topic, 0)]))[topic, 0]

        async def mended() -> bool:
            return (await ledger.positions(topic))[0] <= end

        await eventually(mended)
        sent += await send(topic, 3)
        await eventually(ledger.holding(sent))
    assert skipped._value.get() - before == (3 if lost == "removed" else 0)


async def test_a_mend_that_fails_is_tried_again(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    remove_records: RemoveRecords,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    await send(topic, 2)
    remove_records(topic, before=6)
    positions = TablePositions(ledger.db)
    calls = 0

    async def mend(lost: LogLost) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ConnectionError("away")
        await positions.skip_lost(lost)

    async with running(consumer(topic, positions=positions, on_log_lost=mend)):
        sent += await send(topic, 1)
        await eventually(ledger.holding(sent))
    assert calls == 3


async def test_position_past_the_end_of_the_log_stops(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """As after a restore of Kafka from a backup older than the database."""
    topic = await make_topic()
    sent = await send(topic, 5)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    async with ledger.db.transaction() as tx:
        await tx.execute("UPDATE consumer_offsets SET next = 50 WHERE topic = %s", (topic,))
    async with running(consumer(topic), ends_with=OffsetOutsideLog) as work:
        pass
    assert "the log lost its end" in str(work.ended_with)


@pytest.mark.slow
async def test_passing_fault_blocks_without_losing_the_membership(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """A fault longer than max.poll.interval: nothing is skipped, and the group never reassigns the partitions."""
    topic = await make_topic()
    sent = await send(topic, 5)
    fails, attempts = True, 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal attempts
        attempts += 1
        await ledger.write(tx, records)
        if fails:
            raise ConnectionError("away")

    subject = consumer(topic, handle=handle)
    async with running(subject):

        async def tried() -> bool:
            return attempts > 1

        await eventually(tried)
        generation = subject._reader.generation
        await asyncio.sleep(8)  # the time itself is tested: max_poll_interval_s is 6
        assert await ledger.values() == []
        fails = False
        sent += await send(topic, 5)
        await eventually(ledger.holding(sent))
        assert subject._reader.generation == generation
    assert attempts > 5
    assert await ledger.values() == sent


@pytest.mark.slow
async def test_slow_handler_keeps_the_membership(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 5)
    begun = asyncio.Event()

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        begun.set()
        await asyncio.sleep(8)
        await ledger.write(tx, records)

    subject = consumer(topic, handle=handle)
    async with running(subject):
        await begun.wait()
        generation = subject._reader.generation
        await eventually(ledger.holding(sent))
        assert subject._reader.generation == generation
        sent += await send(topic, 5)
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


@pytest.mark.slow
async def test_broker_killed_and_started_again(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic(partitions=2)
    sent = await send(topic, 20, keys=8)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
        kafka.kill()
        kafka.spawn()
        await asyncio.to_thread(kafka.wait_ready, 300)
        sent += await send(topic, 20, keys=8)
        await eventually(ledger.holding(sent), 300)
    report = await ledger.report(sent)
    assert report == type(report)()


def refuse_value(ledger: Ledger, bad: str) -> Handle:
    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        await ledger.write(tx, records)
        for record in records:
            if record.value.decode() == bad:
                raise Poison(record, "it has no price")

    return handle


async def test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place(
    cluster: Cluster,
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
    read_letters: ReadLetters,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 10)
    bad = sent[4]

    async def refuse(tx: Tx, record: Record, reason: str) -> None:
        await tx.execute(
            "INSERT INTO effects (key, value) VALUES ('key-0', %s)", (f"{record.value.decode()}: {reason}",)
        )

    subject = consumer(topic, handle=refuse_value(ledger, bad), dead_letters=DeadLetters(producer), refuse=refuse)
    async with running(subject):
        await eventually(ledger.holding([sent[-1]]))
    assert await ledger.values() == [*sent[:4], f"{bad}: it has no price", *sent[5:]]
    assert await ledger.positions(topic) == {0: 10}
    assert await cluster.ends([(dlq(topic), 0)]) == {(dlq(topic), 0): 1}
    [letter] = await asyncio.to_thread(read_letters, dlq(topic), 1)
    assert (letter.key(), letter.value()) == (b"key-0", bad.encode())
    assert headers_of(letter) == {
        "dlq-reason": b"it has no price",
        "dlq-group": f"{topic_prefix}group".encode(),
        "dlq-topic": topic.encode(),
        "dlq-partition": b"0",
        "dlq-offset": b"4",
    }


async def test_several_poison_records_of_one_batch(
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    read_letters: ReadLetters,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 6)

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        for record in records:
            if int(record.value) % 2:
                raise Poison(record, "odd")
            await ledger.write(tx, [record])

    async with running(consumer(topic, handle=handle, dead_letters=DeadLetters(producer))):
        await eventually(ledger.holding([sent[4]]))
        await eventually(lambda: at_position(ledger, topic, 6))
    assert await ledger.values() == sent[::2]
    letters = await asyncio.to_thread(read_letters, dlq(topic), 3)
    assert [value_of(letter).decode() for letter in letters] == sent[1::2]


async def test_poison_blocks_where_nothing_takes_dead_letters(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 3)
    raised = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal raised
        raised += 1
        await ledger.write(tx, records)
        raise Poison(records[0], "bad")

    async with running(consumer(topic, handle=handle)):

        async def tried() -> bool:
            return raised > 3

        await eventually(tried)
    assert await ledger.values() == []
    assert await ledger.positions(topic) == {0: 0}
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))


async def at_position(ledger: Ledger, topic: str, at: int) -> bool:
    return await ledger.positions(topic) == {0: at}

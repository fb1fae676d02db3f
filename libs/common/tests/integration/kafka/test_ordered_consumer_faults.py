"""Faults that stop or block an OrderedConsumer, and records that it skips, each on purpose and with a message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from classifeed_common.db import Tx
from classifeed_common.kafka import (
    LogLost,
    OffsetOutsideLog,
    Poison,
    Record,
    TablePositions,
    TopicRecreated,
    dlq,
)
from classifeed_common.kafka.consuming import consumer as consumer_module
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.telemetry import metrics
from classifeed_devkit.testing.recovery import until

from .conftest import ConsumerScene, Report
from .topic_scene import Running, headers_of, value_of

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("count", [9, 2])  # with 9 the old offset lies inside the new log, with 2 outside
async def test_recreated_topic_stops_the_start(scene: ConsumerScene, count: int) -> None:
    sent = await scene.send(5)
    await scene.consume()
    await scene.recreate_topic()
    await scene.send(count)
    words = await scene.consume_until(TopicRecreated)
    for word in (scene.topic, f"group {scene.group}", "offset 5", "test.consumer_offsets", "remove the positions"):
        assert word in words
    assert await scene.effects() == sent


async def test_recreated_topic_stops_a_running_consumer(scene: ConsumerScene) -> None:
    sent = await scene.send(5)
    async with scene.consuming(ends_with=TopicRecreated):
        await scene.handled()
        await scene.recreate_topic()
        await scene.send(9)
    assert await scene.effects() == sent


async def test_recreated_topic_as_long_as_the_old_one_is_noticed_without_a_record(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_COMPARE_EVERY_S", 0.2)
    await scene.send(5)
    async with scene.consuming(ends_with=TopicRecreated):
        await scene.handled()

        async def read_nothing(self: PartitionReader, max_records: int, timeout_s: float) -> list[Record]:
            # As if the topic was missing for a shorter time than the client's refresh.
            await asyncio.sleep(0.05)
            return []

        monkeypatch.setattr(PartitionReader, "poll", read_nothing)
        await scene.recreate_topic()
        await scene.send(5)


async def test_recreated_topic_begins_anew_after_the_remedy(scene: ConsumerScene) -> None:
    await scene.send(5)
    await scene.consume()
    await scene.recreate_topic()
    await scene.send(3)
    await scene.execute("DELETE FROM consumer_offsets WHERE topic = %s", scene.topic)
    await scene.consume()
    assert await scene.effects() == scene.sent


async def test_records_removed_by_retention_stop_the_start(scene: ConsumerScene) -> None:
    sent = await scene.send(5)
    await scene.consume()
    await scene.send(5)
    scene.remove_records(before=8)
    words = await scene.consume_until(OffsetOutsideLog)
    for word in (f"{scene.topic}[0]", "offset 5", "from 8 to 10", "3 records were removed unread", "set next to 8"):
        assert word in words
    assert await scene.effects() == sent
    assert await scene.positions() == {0: 5}


async def test_records_removed_under_a_running_consumer_stop_it(scene: ConsumerScene) -> None:
    sent = await scene.send(1)
    blocked, go_on = asyncio.Event(), asyncio.Event()

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        blocked.set()
        if not go_on.is_set():
            raise ConnectionError("away")
        await scene.write(tx, records)

    async with scene.consuming(handle=handle, ends_with=OffsetOutsideLog) as work:
        await blocked.wait()
        await scene.send(9)
        scene.remove_records(before=5)
        go_on.set()
    assert "4 records were removed unread" in str(work.ended_with)
    assert await scene.effects() == sent


@pytest.mark.parametrize("lost", ["removed", "recreated", "past the end"])
async def test_a_consumer_whose_senders_ask_again_goes_on_where_the_log_can_be_read(
    scene: ConsumerScene, lost: str
) -> None:
    sent = await scene.send(5)
    await scene.consume()
    skipped = metrics.LOST_RECORDS.labels(scene.group, scene.topic)
    before = skipped._value.get()
    if lost == "removed":
        await scene.send(5)
        scene.remove_records(before=8)
    elif lost == "recreated":
        await scene.recreate_topic()
    else:
        await scene.set_positions(50)
    positions = TablePositions(scene.database)
    async with scene.consuming(positions=positions, on_log_lost=positions.skip_lost):
        end = (await scene.cluster.ends([(scene.topic, 0)]))[scene.topic, 0]

        async def mended() -> bool:
            return (await scene.positions())[0] <= end

        await until(mended)
        sent += await scene.send(3)
        await scene.handled(sent)
    assert skipped._value.get() - before == (3 if lost == "removed" else 0)


async def test_a_mend_that_fails_is_tried_again(scene: ConsumerScene) -> None:
    sent = await scene.send(5)
    await scene.consume()
    await scene.send(2)
    scene.remove_records(before=6)
    positions = TablePositions(scene.database)
    calls = 0

    async def mend(lost: LogLost) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ConnectionError("away")
        await positions.skip_lost(lost)

    async with scene.consuming(positions=positions, on_log_lost=mend):
        sent += await scene.send(1)
        await scene.handled(sent)
    assert calls == 3


async def test_position_past_the_end_of_the_log_stops(scene: ConsumerScene) -> None:
    """As after a restore of Kafka from a backup older than the database."""
    await scene.send(5)
    await scene.consume()
    await scene.set_positions(50)
    assert "the log lost its end" in await scene.consume_until(OffsetOutsideLog)


@pytest.mark.slow
async def test_passing_fault_blocks_without_losing_the_membership(scene: ConsumerScene) -> None:
    """A fault longer than max.poll.interval: nothing is skipped, and the group never reassigns the partitions."""
    await scene.send(5)
    fails, attempts = True, 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal attempts
        attempts += 1
        await scene.write(tx, records)
        if fails:
            raise ConnectionError("away")

    subject = scene.consumer(handle=handle)
    async with Running(subject):
        await until(lambda: attempts > 1)
        generation = subject._reader.generation
        await asyncio.sleep(8)  # the time itself is tested: max_poll_interval_s is 6
        assert await scene.effects() == []
        fails = False
        await scene.send(5)
        await scene.handled()
        assert subject._reader.generation == generation
    assert attempts > 5
    assert await scene.effects() == scene.sent


@pytest.mark.slow
async def test_slow_handler_keeps_the_membership(scene: ConsumerScene) -> None:
    await scene.send(5)
    begun = asyncio.Event()

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        begun.set()
        await asyncio.sleep(8)
        await scene.write(tx, records)

    subject = scene.consumer(handle=handle)
    async with Running(subject):
        await begun.wait()
        generation = subject._reader.generation
        await scene.handled()
        assert subject._reader.generation == generation
        await scene.send(5)
        await scene.handled()
    assert await scene.effects() == scene.sent


@pytest.mark.slow
@pytest.mark.partitions(2)
async def test_broker_killed_and_started_again(scene: ConsumerScene) -> None:
    await scene.send(20, keys=8)
    async with scene.consuming():
        await scene.handled()
        await scene.restart_broker()
        await scene.send(20, keys=8)
        await scene.handled(within_s=300)
    assert await scene.report() == Report()


async def test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place(scene: ConsumerScene) -> None:
    sent = await scene.send(10)
    bad = sent[4]

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        await scene.write(tx, records)
        for record in records:
            if record.value.decode() == bad:
                raise Poison(record, "it has no price")

    async def refuse(tx: Tx, record: Record, reason: str) -> None:
        await tx.execute(
            "INSERT INTO effects (key, value) VALUES ('key-0', %s)", (f"{record.value.decode()}: {reason}",)
        )

    async with scene.consuming(handle=handle, dead_letters=scene.dead_letters, refuse=refuse):
        await scene.handled([sent[-1]])
    assert await scene.effects() == [*sent[:4], f"{bad}: it has no price", *sent[5:]]
    assert await scene.positions() == {0: 10}
    letters = dlq(scene.topic)
    assert await scene.cluster.ends([(letters, 0)]) == {(letters, 0): 1}
    [letter] = await scene.letters(1)
    assert (letter.key(), letter.value()) == (b"key-0", bad.encode())
    assert headers_of(letter) == {
        "dlq-reason": b"it has no price",
        "dlq-group": scene.group.encode(),
        "dlq-topic": scene.topic.encode(),
        "dlq-partition": b"0",
        "dlq-offset": b"4",
    }


async def test_several_poison_records_of_one_batch(scene: ConsumerScene) -> None:
    sent = await scene.send(6)

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        for record in records:
            if int(record.value) % 2:
                raise Poison(record, "odd")
            await scene.write(tx, [record])

    async with scene.consuming(handle=handle, dead_letters=scene.dead_letters):
        await scene.handled([sent[4]])
        await scene.reached({0: 6})
    assert await scene.effects() == sent[::2]
    assert [value_of(letter).decode() for letter in await scene.letters(3)] == sent[1::2]


async def test_poison_blocks_where_nothing_takes_dead_letters(scene: ConsumerScene) -> None:
    await scene.send(3)
    raised = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal raised
        raised += 1
        await scene.write(tx, records)
        raise Poison(records[0], "bad")

    async with scene.consuming(handle=handle):
        await until(lambda: raised > 3)
    assert await scene.effects() == []
    assert await scene.positions() == {0: 0}
    await scene.consume()

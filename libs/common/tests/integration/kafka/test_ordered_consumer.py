"""OrderedConsumer with real Kafka and PostgreSQL: order, first start, rebalances, zombies, lost responses."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from classifeed_common.db import Tx
from classifeed_common.kafka import GroupPartition, KafkaProducer, Message, Position, Record, TablePositions
from classifeed_common.kafka.consuming import consumer as consumer_module
from classifeed_common.kafka.consuming import light_first
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.telemetry import metrics
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import ConsumerScene, Report
from .topic_scene import Running

pytestmark = pytest.mark.kafka


@pytest.mark.partitions(4)
async def test_each_record_once_and_in_order_per_key(scene: ConsumerScene) -> None:
    await scene.send(300, keys=10)
    async with scene.consuming(max_records=50):
        await scene.handled()
        await scene.send(200, keys=10)
        await scene.handled()
    assert await scene.report() == Report()
    assert sum((await scene.positions()).values()) == len(scene.sent)


async def test_a_consumer_that_has_ended_leaves_no_connection_behind(scene: ConsumerScene) -> None:
    """Clients of a searcher that rebuilds its index would keep connecting until they are collected."""
    await scene.send(20)
    gc.disable()
    try:
        before = threads_of_the_library()
        made = scene.consumer()
        async with Running(made):
            await scene.handled()
            assert threads_of_the_library() > before
        await until(lambda: threads_of_the_library() <= before, 20)
    finally:
        gc.enable()


def threads_of_the_library() -> int:
    """Return the number of librdkafka's threads in this process, by their names."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            count += task.joinpath("comm").read_text().startswith("rdk:")
    return count


async def test_restart_goes_on_where_it_stood(scene: ConsumerScene) -> None:
    await scene.send(20)
    await scene.consume()
    await scene.send(20)
    await scene.consume()
    assert await scene.effects() == scene.sent


@pytest.mark.partitions(2)
async def test_positions_that_went_back_are_noticed_without_a_further_record(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_COMPARE_EVERY_S", 0.2)
    await scene.send(20, keys=1)
    async with scene.consuming():
        await scene.handled()
        async with scene.database.transaction() as tx:  # effects and positions of a backup from before the first record
            await tx.execute("UPDATE consumer_offsets SET next = 0 WHERE topic = %s", (scene.topic,))
            await tx.execute("DELETE FROM effects")
        await scene.handled()
    assert await scene.effects() == scene.sent


@pytest.mark.partitions(3)
async def test_one_transaction_covers_all_polled_partitions(scene: ConsumerScene) -> None:
    sent = await scene.send(30, keys=12)
    transactions: dict[str, set[int]] = {}

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        [(xid,)] = await (await tx.execute("SELECT pg_current_xact_id()::text")).fetchall()
        transactions.setdefault(xid, set()).update(record.partition for record in records)
        await scene.write(tx, records)

    async def shared() -> bool:
        """Send until two partitions come together: the broker may respond for one at a time."""
        if any(len(partitions) > 1 for partitions in transactions.values()):
            return True
        await scene.send(12, keys=12)
        return False

    async with scene.consuming(handle=handle):
        await scene.handled(sent)
        await until(shared)


@pytest.mark.partitions(2)
async def test_who_sent_little_does_not_wait_for_the_transaction_of_who_sent_much(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions: list[list[int]] = []
    polled: list[set[int]] = []
    poll = PartitionReader.poll

    async def watched(self: PartitionReader, max_records: int, timeout_s: float) -> list[Record]:
        records = await poll(self, max_records, timeout_s)
        transactions.clear()
        polled.append({record.partition for record in records})
        return records

    monkeypatch.setattr(PartitionReader, "poll", watched)
    ends: list[list[list[int]]] = []

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        transactions.append([record.partition for record in records])
        if polled[-1] == {0, 1}:
            ends.append([*transactions])

    heavy = [Message(scene.topic, b"flood", b"x" * (light_first.HEAVY_BYTES // 4), partition=0)] * 5

    async def together() -> bool:
        await scene.producer.send([*heavy, Message(scene.topic, b"neighbour", b"y", partition=1)])
        return bool(ends) and len(ends[-1]) > 1

    async with scene.consuming(handle=handle):
        await until(together)
    assert all(pieces[0] == [1] * len(pieces[0]) for pieces in ends), ends
    assert ends[-1][1] == [0] * len(ends[-1][1])


@pytest.mark.parametrize("times", [3.0, 6.0])
async def test_records_gather_after_an_effect_and_none_waits_for_a_full_one(scene: ConsumerScene, times: float) -> None:
    effects: list[tuple[float, float, int]] = []

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        began_s = time.monotonic()
        await scene.write(tx, records)
        await asyncio.sleep(0.1)
        effects.append((began_s, time.monotonic(), len(records)))

    async with scene.consuming(handle=handle, max_records=3, gather_s=30.0, gather_times=times):
        for count in (1, 1, 9):
            await scene.send(count)
            await scene.handled()
    pauses = [
        (count, (next_s - ended_s) / (ended_s - began_s))
        for (began_s, ended_s, count), (next_s, _, _) in itertools.pairwise(effects)
    ]
    assert min(pause for count, pause in pauses if count < 3) >= times
    assert min(pause for count, pause in pauses if count == 3) < 3
    assert [count for _, _, count in effects[-2:]] == [3, 3]


@pytest.mark.partitions(2)
async def test_first_start_writes_its_beginning_before_any_record(scene: ConsumerScene) -> None:
    async with scene.consuming():
        await scene.reached({0: 0, 1: 0})
    topic_ids = await scene.fetch("SELECT DISTINCT topic_id FROM consumer_offsets WHERE topic = %s", scene.topic)
    assert topic_ids == [(await scene.topic_id(),)]


async def test_first_start_begins_where_the_log_begins(scene: ConsumerScene) -> None:
    sent = await scene.send(10)
    scene.remove_records(before=4)
    async with scene.consuming():
        await scene.handled(sent[4:])
    assert await scene.effects() == sent[4:]


async def test_kafkas_own_commit_is_for_display_only(scene: ConsumerScene) -> None:
    await scene.send(10)
    other = Consumer({"bootstrap.servers": scene.kafka.bootstrap, "group.id": scene.group})

    async def shown() -> bool:
        [place] = await asyncio.to_thread(other.committed, [TopicPartition(scene.topic, 0)], 60)
        return place.offset == len(scene.sent)

    try:
        other.commit(offsets=[TopicPartition(scene.topic, 0, 7)], asynchronous=False)
        async with scene.consuming():
            await scene.handled()
            await until(shown)
    finally:
        other.close()
    assert await scene.effects() == scene.sent


async def test_offsets_that_stay_as_they_are_are_committed_once(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit is a write of the broker: ten idle groups with one per second took a third of its time."""
    monkeypatch.setattr(consumer_module, "_SHOW_EVERY_S", 0.0)
    await scene.send(10)
    subject = scene.consumer()
    commits: list[int] = []
    shows: list[int] = []
    show, commit = subject._reader._show, subject._reader._on_commit

    def note_show(offsets: Mapping[tuple[str, int], int]) -> None:
        shows.extend(offsets.values())
        show(offsets)

    def note_commit(error: KafkaError | None, committed: list[TopicPartition]) -> None:
        assert error is None
        commits.extend(place.offset for place in committed)
        commit(error, committed)

    monkeypatch.setattr(subject._reader, "_show", note_show)
    subject._reader._config["on_commit"] = note_commit
    async with Running(subject):
        await scene.handled()
        await scene.send(10)
        await scene.handled()
        await until(lambda: shows.count(20) >= 10 and 20 in commits)
    assert commits.count(20) == 1


@pytest.mark.partitions(4)
async def test_rebalance_in_the_middle_of_handling(scene: ConsumerScene) -> None:
    """A second member joins while the first one handles; the first one continues with fewer partitions."""
    await scene.send(40, keys=16)
    in_the_middle, go_on = asyncio.Event(), asyncio.Event()

    async def handle_slowly(tx: Tx, records: Sequence[Record]) -> None:
        await scene.write(tx, records)
        in_the_middle.set()
        await go_on.wait()

    first, second = scene.consumer(handle=handle_slowly, max_records=10), scene.consumer()
    async with Running(first):
        await in_the_middle.wait()
        async with Running(second):
            await until(lambda: first._reader.generation >= 2 and len(second._reader.assigned) == 2)
            go_on.set()
            await scene.handled()
            await scene.send(40, keys=16)
            await scene.handled()
    assert await scene.report() == Report()


@pytest.mark.parametrize(("compares", "fault"), [(True, None), (False, "doubled")])
async def test_two_owners_of_one_partition(scene: ConsumerScene, compares: bool, fault: str | None) -> None:
    """Both believe that they own it, as after a long pause; without the comparison effects are doubled."""
    await scene.send(10)
    polled, go_on = asyncio.Event(), asyncio.Event()

    class Held(TablePositions):
        @asynccontextmanager
        async def effect(
            self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
        ) -> AsyncIterator[Tx]:
            polled.set()
            await go_on.wait()
            if compares:
                async with super().effect(expected, new) as tx:
                    yield tx
            else:
                async with scene.database.transaction() as tx:
                    yield tx
                    await tx.execute("UPDATE consumer_offsets SET next = %s", (next(iter(new.values())).next,))

    zombies = metrics.ZOMBIES.labels(scene.group)
    before = zombies._value.get()
    async with scene.consuming(positions=Held(scene.database), assign_all=True, max_records=4):
        await polled.wait()
        await scene.consume(assign_all=True)
        go_on.set()
        await scene.send(3)
        await scene.handled()
    report = await scene.report()
    assert not report.lost
    assert bool(report.doubled) == (fault == "doubled"), report
    if compares:
        assert not report.disordered
        assert zombies._value.get() == before + 1


async def test_commit_whose_answer_was_lost_is_not_repeated(scene: ConsumerScene) -> None:
    await scene.send(10)

    class Deaf(TablePositions):
        lost = False

        @asynccontextmanager
        async def effect(
            self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
        ) -> AsyncIterator[Tx]:
            async with super().effect(expected, new) as tx:
                yield tx
            if not self.lost:
                self.lost = True
                raise psycopg.OperationalError("the connection broke after the commit")

    await scene.consume(positions=Deaf(scene.database), max_records=4)
    assert await scene.effects() == scene.sent


async def test_database_sessions_cut_off_in_the_middle(scene: ConsumerScene) -> None:
    await scene.send(10)
    cuts = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal cuts
        await scene.write(tx, records)
        if cuts < 2:
            cuts += 1
            async with await psycopg.AsyncConnection.connect(scene.database.dsn, autocommit=True) as other:
                await other.execute("SELECT pg_terminate_backend(%s, 60000)", (tx.info.backend_pid,))

    await scene.consume(handle=handle)
    assert cuts == 2
    assert await scene.effects() == scene.sent


async def test_holes_of_transactions_are_read_through(scene: ConsumerScene) -> None:
    """Transaction markers use offsets without records; the consumer must neither stop nor skip records."""
    other = Producer({"bootstrap.servers": scene.kafka.bootstrap, "transactional.id": scene.topic})
    other.init_transactions(120)
    for number in range(6):
        other.begin_transaction()
        values = [f"{number}-a", f"{number}-b"]
        for value in values:
            other.produce(scene.topic, value, "key")
        if number % 2:
            other.abort_transaction(120)
        else:
            other.commit_transaction(120)
            scene.sent += values
    await scene.consume(max_records=3)
    assert await scene.effects() == scene.sent


async def test_stale_fetch_is_not_taken_for_a_hole(scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that come too early, as from a stale fetch, are ignored; the ones in between are read first."""
    await scene.send(10)
    subject = scene.consumer(max_records=3)
    poll, skipped = subject._reader.poll, False

    async def poll_with_a_skip(max_records: int, timeout_s: float) -> list[Record]:
        nonlocal skipped
        records = await poll(max_records, timeout_s)
        if records and not skipped:
            skipped = True
            return records[2:]
        return records

    monkeypatch.setattr(subject._reader, "poll", poll_with_a_skip)
    async with Running(subject):
        await scene.handled()
    assert skipped
    assert await scene.effects() == scene.sent


@pytest.mark.partitions(2)
async def test_without_a_group_all_partitions_are_read_and_grown_ones_found(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_PARTITIONS_EVERY_S", 0.2)
    await scene.send(5, partition=0)
    await scene.send(5, partition=1)
    async with scene.consuming(assign_all=True):
        await scene.handled()
        admin = AdminClient({"bootstrap.servers": scene.kafka.bootstrap})
        admin.create_partitions([NewPartitions(scene.topic, 3)])[scene.topic].result(60)
        later = KafkaProducer(scene.kafka.bootstrap, client_id="later")  # existing producers learn late of partitions
        await later.start()
        await scene.send(1, partition=2, producer=later)
        await later.close()
        await scene.handled()
    assert await scene.positions() == {0: 5, 1: 5, 2: 1}


@pytest.mark.partitions(2)
async def test_backlog_counts_what_the_group_has_not_handled(scene: ConsumerScene) -> None:
    await scene.send(30, keys=8)
    subject = scene.consumer()
    assert await subject.backlog() == {scene.topic: 30}
    async with Running(subject):
        await scene.handled()
        assert await subject.backlog() == {scene.topic: 0}
    await scene.send(4)
    assert await scene.consumer().backlog() == {scene.topic: 4}


async def test_topic_that_comes_later_is_waited_for(
    scene: ConsumerScene, make_topic: MakeTopic, topic_prefix: str
) -> None:
    async with scene.consuming(topics=[topic_prefix + "late"], assign_all=True):
        scene.topic = await make_topic("late")
        await scene.send(3)
        await scene.handled()

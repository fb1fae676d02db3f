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
from classifeed_common.kafka import Cluster, GroupPartition, KafkaProducer, Message, Position, Record, TablePositions
from classifeed_common.kafka.consuming import consumer as consumer_module
from classifeed_common.kafka.consuming import light_first
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.telemetry import metrics
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import Eventually, Ledger, MakeConsumer, RemoveRecords, Running, Send

pytestmark = pytest.mark.kafka


async def test_each_record_once_and_in_order_per_key(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic(partitions=4)
    sent = await send(topic, 300, keys=10)
    async with running(consumer(topic, max_records=50)):
        await eventually(ledger.holding(sent))
        sent += await send(topic, 200, keys=10)
        await eventually(ledger.holding(sent))
    report = await ledger.report(sent)
    assert report == type(report)()
    assert sum((await ledger.positions(topic)).values()) == len(sent)


async def test_a_consumer_that_has_ended_leaves_no_connection_behind(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """Clients of a searcher that rebuilds its index would keep connecting until they are collected."""
    topic = await make_topic()
    sent = await send(topic, 20)

    async def is_as_before() -> bool:
        return threads_of_the_library() <= before

    gc.disable()
    try:
        before = threads_of_the_library()
        made = consumer(topic)
        async with running(made):
            await eventually(ledger.holding(sent))
            assert threads_of_the_library() > before
        await eventually(is_as_before, 20)
    finally:
        gc.enable()


def threads_of_the_library() -> int:
    """Return the number of librdkafka's threads in this process, by their names."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            count += task.joinpath("comm").read_text().startswith("rdk:")
    return count


async def test_restart_goes_on_where_it_stood(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 20)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    sent += await send(topic, 20)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


async def test_positions_that_went_back_are_noticed_without_a_further_record(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer_module, "_COMPARE_EVERY_S", 0.2)
    topic = await make_topic(partitions=2)
    sent = await send(topic, 20, keys=1)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent))
        async with ledger.db.transaction() as tx:  # effects and positions of a backup from before the first record
            await tx.execute("UPDATE consumer_offsets SET next = 0 WHERE topic = %s", (topic,))
            await tx.execute("DELETE FROM effects")
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


async def test_one_transaction_covers_all_polled_partitions(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
) -> None:
    topic = await make_topic(partitions=3)
    sent = await send(topic, 30, keys=12)
    transactions: dict[str, set[int]] = {}

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        [(xid,)] = await (await tx.execute("SELECT pg_current_xact_id()::text")).fetchall()
        transactions.setdefault(xid, set()).update(record.partition for record in records)
        await ledger.write(tx, records)

    async def shared() -> bool:
        """Send until two partitions come together: the broker may respond for one at a time."""
        if any(len(partitions) > 1 for partitions in transactions.values()):
            return True
        await send(topic, 12, keys=12)
        return False

    async with running(consumer(topic, handle=handle)):
        await eventually(ledger.holding(sent))
        await eventually(shared)


async def test_who_sent_little_does_not_wait_for_the_transaction_of_who_sent_much(
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = await make_topic(partitions=2)
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

    heavy = [Message(topic, b"flood", b"x" * (light_first.HEAVY_BYTES // 4), partition=0)] * 5

    async def together() -> bool:
        await producer.send([*heavy, Message(topic, b"neighbour", b"y", partition=1)])
        return bool(ends) and len(ends[-1]) > 1

    async with running(consumer(topic, handle=handle)):
        await eventually(together)
    assert all(pieces[0] == [1] * len(pieces[0]) for pieces in ends), ends
    assert ends[-1][1] == [0] * len(ends[-1][1])


@pytest.mark.parametrize("times", [3.0, 6.0])
async def test_records_gather_after_an_effect_and_none_waits_for_a_full_one(
    times: float,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    consumer: MakeConsumer,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    effects: list[tuple[float, float, int]] = []

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        began_s = time.monotonic()
        await ledger.write(tx, records)
        await asyncio.sleep(0.1)
        effects.append((began_s, time.monotonic(), len(records)))

    values: list[str] = []
    async with running(consumer(topic, handle=handle, max_records=3, gather_s=30.0, gather_times=times)):
        for count in (1, 1, 9):
            values += await send(topic, count)
            await eventually(ledger.holding(values))
    pauses = [
        (count, (next_s - ended_s) / (ended_s - began_s))
        for (began_s, ended_s, count), (next_s, _, _) in itertools.pairwise(effects)
    ]
    assert min(pause for count, pause in pauses if count < 3) >= times
    assert min(pause for count, pause in pauses if count == 3) < 3
    assert [count for _, _, count in effects[-2:]] == [3, 3]


async def test_first_start_writes_its_beginning_before_any_record(
    consumer: MakeConsumer,
    ledger: Ledger,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
) -> None:
    topic = await make_topic(partitions=2)

    async def begun() -> bool:
        return await ledger.positions(topic) == {0: 0, 1: 0}

    async with running(consumer(topic)):
        await eventually(begun)
    async with ledger.db.connection() as connection:
        cursor = await connection.execute("SELECT DISTINCT topic_id FROM consumer_offsets WHERE topic = %s", (topic,))
        assert await cursor.fetchall() == [((await cluster.topics([topic]))[topic].topic_id,)]


async def test_first_start_begins_where_the_log_begins(
    remove_records: RemoveRecords,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 10)
    remove_records(topic, before=4)
    async with running(consumer(topic)):
        await eventually(ledger.holding(sent[4:]))
    assert await ledger.values() == sent[4:]


async def test_kafkas_own_commit_is_for_display_only(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 10)
    other = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic_prefix + "group"})

    async def shown() -> bool:
        [place] = await asyncio.to_thread(other.committed, [TopicPartition(topic, 0)], 60)
        return place.offset == len(sent)

    try:
        other.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
        async with running(consumer(topic)):
            await eventually(ledger.holding(sent))
            await eventually(shown)
    finally:
        other.close()
    assert await ledger.values() == sent


async def test_offsets_that_stay_as_they_are_are_committed_once(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each commit is a write of the broker: ten idle groups with one per second took a third of its time."""
    monkeypatch.setattr(consumer_module, "_SHOW_EVERY_S", 0.0)
    topic = await make_topic()
    sent = await send(topic, 10)
    subject = consumer(topic)
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

    async def is_shown_often() -> bool:
        return shows.count(20) >= 10 and 20 in commits

    monkeypatch.setattr(subject._reader, "_show", note_show)
    subject._reader._config["on_commit"] = note_commit
    async with running(subject):
        await eventually(ledger.holding(sent))
        sent += await send(topic, 10)
        await eventually(ledger.holding(sent))
        await eventually(is_shown_often)
    assert commits.count(20) == 1


async def test_rebalance_in_the_middle_of_handling(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """A second member joins while the first one handles; the first one continues with fewer partitions."""
    topic = await make_topic(partitions=4)
    sent = await send(topic, 40, keys=16)
    in_the_middle, go_on = asyncio.Event(), asyncio.Event()

    async def handle_slowly(tx: Tx, records: Sequence[Record]) -> None:
        await ledger.write(tx, records)
        in_the_middle.set()
        await go_on.wait()

    first, second = consumer(topic, handle=handle_slowly, max_records=10), consumer(topic)
    async with running(first):
        await in_the_middle.wait()
        async with running(second):

            async def shared() -> bool:
                return first._reader.generation >= 2 and len(second._reader.assigned) == 2

            await eventually(shared)
            go_on.set()
            await eventually(ledger.holding(sent))
            sent += await send(topic, 40, keys=16)
            await eventually(ledger.holding(sent))
    report = await ledger.report(sent)
    assert report == type(report)()


@pytest.mark.parametrize(("compares", "fault"), [(True, None), (False, "doubled")])
async def test_two_owners_of_one_partition(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
    compares: bool,
    fault: str | None,
) -> None:
    """Both believe that they own it, as after a long pause; without the comparison effects are doubled."""
    topic = await make_topic()
    sent = await send(topic, 10)
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
                async with ledger.db.transaction() as tx:
                    yield tx
                    await tx.execute("UPDATE consumer_offsets SET next = %s", (next(iter(new.values())).next,))

    zombies = metrics.ZOMBIES.labels(topic_prefix + "group")
    before = zombies._value.get()
    async with running(consumer(topic, positions=Held(ledger.db), assign_all=True, max_records=4)):
        await polled.wait()
        async with running(consumer(topic, assign_all=True)):
            await eventually(ledger.holding(sent))
        go_on.set()
        sent += await send(topic, 3)
        await eventually(ledger.holding(sent))
    report = await ledger.report(sent)
    assert not report.lost
    assert bool(report.doubled) == (fault == "doubled"), report
    if compares:
        assert not report.disordered
        assert zombies._value.get() == before + 1


async def test_commit_whose_answer_was_lost_is_not_repeated(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 10)

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

    async with running(consumer(topic, positions=Deaf(ledger.db), max_records=4)):
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


async def test_database_sessions_cut_off_in_the_middle(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sent = await send(topic, 10)
    cuts = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal cuts
        await ledger.write(tx, records)
        if cuts < 2:
            cuts += 1
            async with await psycopg.AsyncConnection.connect(ledger.db.dsn, autocommit=True) as other:
                await other.execute("SELECT pg_terminate_backend(%s, 60000)", (tx.info.backend_pid,))

    async with running(consumer(topic, handle=handle)):
        await eventually(ledger.holding(sent))
    assert cuts == 2
    assert await ledger.values() == sent


async def test_holes_of_transactions_are_read_through(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """Transaction markers use offsets without records; the consumer must neither stop nor skip records."""
    topic = await make_topic()
    other = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    other.init_transactions(120)
    sent = []
    for number in range(6):
        other.begin_transaction()
        for value in (f"{number}-a", f"{number}-b"):
            other.produce(topic, value, "key")
        if number % 2:
            other.abort_transaction(120)
        else:
            other.commit_transaction(120)
            sent += [f"{number}-a", f"{number}-b"]
    async with running(consumer(topic, max_records=3)):
        await eventually(ledger.holding(sent))
    assert await ledger.values() == sent


async def test_stale_fetch_is_not_taken_for_a_hole(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records that come too early, as from a stale fetch, are ignored; the ones in between are read first."""
    topic = await make_topic()
    sent = await send(topic, 10)
    subject = consumer(topic, max_records=3)
    poll, skipped = subject._reader.poll, False

    async def poll_with_a_skip(max_records: int, timeout_s: float) -> list[Record]:
        nonlocal skipped
        records = await poll(max_records, timeout_s)
        if records and not skipped:
            skipped = True
            return records[2:]
        return records

    monkeypatch.setattr(subject._reader, "poll", poll_with_a_skip)
    async with running(subject):
        await eventually(ledger.holding(sent))
    assert skipped
    assert await ledger.values() == sent


async def test_without_a_group_all_partitions_are_read_and_grown_ones_found(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer_module, "_PARTITIONS_EVERY_S", 0.2)
    topic = await make_topic(partitions=2)
    sent = await send(topic, 5, partition=0) + await send(topic, 5, partition=1)
    async with running(consumer(topic, assign_all=True)):
        await eventually(ledger.holding(sent))
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(60)
        later = KafkaProducer(kafka.bootstrap, client_id="later")  # existing producers learn of new partitions late
        await later.start()
        await later.send([Message(topic, b"key", b"grown", partition=2)])
        await later.close()
        await eventually(ledger.holding([*sent, "grown"]))
    assert await ledger.positions(topic) == {0: 5, 1: 5, 2: 1}


async def test_backlog_counts_what_the_group_has_not_handled(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic(partitions=2)
    sent = await send(topic, 30, keys=8)
    subject = consumer(topic)
    assert await subject.backlog() == {topic: 30}
    async with running(subject):
        await eventually(ledger.holding(sent))
        assert await subject.backlog() == {topic: 0}
    await send(topic, 4)
    assert await consumer(topic).backlog() == {topic: 4}


async def test_topic_that_comes_later_is_waited_for(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
) -> None:
    async with running(consumer(topic_prefix + "late", assign_all=True)):
        topic = await make_topic("late")
        sent = await send(topic, 3)
        await eventually(ledger.holding(sent))

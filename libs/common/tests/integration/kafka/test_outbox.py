"""Outbox and Relay against real PostgreSQL and Kafka: nothing lost, order per key, one relay at a time."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

import psycopg
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as ReceivedMessage

from classifeed_common.db import Database, Tx, ddl, load_queries
from classifeed_common.errors import InvalidArgument
from classifeed_common.kafka import KafkaProducer, Message
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.outbox import relay as relay_module
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import Condition, Eventually, Running, headers_of, value_of

pytestmark = pytest.mark.kafka

Read = Callable[[str], Awaitable[list[ReceivedMessage]]]


class Producer(Protocol):
    """The part of KafkaProducer that a relay uses."""

    async def send(self, messages: Sequence[Message], *, limit_s: float | None = 30.0) -> None: ...


class MakeRelay(Protocol):
    """Creates a relay; `changes` are arguments of Relay."""

    def __call__(self, holder: str = "one", ttl_s: float = 60, **changes: Any) -> Relay: ...


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await tx.execute(ddl("leases", 1))
        await tx.execute("CREATE TABLE things (name text PRIMARY KEY, version int NOT NULL)")
    return database


@pytest.fixture
def outbox() -> Outbox:
    return Outbox()


@pytest.fixture
def relay(db: Database, producer: KafkaProducer, outbox: Outbox) -> MakeRelay:
    def make(holder: str = "one", ttl_s: float = 60, **changes: Any) -> Relay:
        settings: dict[str, Any] = {"outbox": outbox, "max_backoff_s": 0.2} | changes
        return Relay(db, settings.pop("producer", producer), Leases(db, holder, ttl_s), **settings)

    return make


@pytest.fixture
def read(kafka: EmbeddedKafka) -> Iterator[Read]:
    """Return the messages of partition 0 so far, as (key, value)."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reads", "enable.partition.eof": True})

    async def read(topic: str) -> list[ReceivedMessage]:
        return await asyncio.to_thread(read_now, topic)

    def read_now(topic: str) -> list[ReceivedMessage]:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[ReceivedMessage] = []
        while True:
            message = consumer.poll(60)
            assert message is not None
            if message.error() is not None:
                return found
            found.append(message)

    yield read
    consumer.close()


def arrived(read: Read, topic: str, count: int) -> Condition:
    async def condition() -> bool:
        return len(await read(topic)) >= count

    return condition


def values(messages: Sequence[ReceivedMessage]) -> list[str]:
    return [value_of(message).decode() for message in messages]


async def empty(relay: Relay) -> bool:
    return await relay.backlog() == 0


async def test_messages_arrive_as_they_were_put_and_go_from_the_table(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic(partitions=2)
    headers = {"type": b"a.b.C", "any": bytes(range(256)), "empty": b""}
    put = [Message(topic, None, b"", {}, 0), Message(topic, b"\x00\xff", b"\x00body", headers, 0)]
    async with db.transaction() as tx:
        await outbox.put(tx, put)
        await outbox.put(tx, [])
    subject = relay()
    assert await subject.backlog() == 2
    async with running(subject):
        await eventually(lambda: empty(subject))
    first, second = await read(topic)
    assert (first.key(), first.value(), first.headers()) == (None, b"", None)
    assert (second.key(), second.value(), headers_of(second)) == (b"\x00\xff", b"\x00body", headers)


async def test_what_is_rolled_back_is_never_sent(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()

    async def put_and_roll_back() -> None:
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", b"never")])
            raise psycopg.Rollback

    await put_and_roll_back()
    async with db.transaction() as tx:
        await outbox.put(tx, [Message(topic, b"k", b"real")])
    async with running(relay()):
        await eventually(arrived(read, topic, 1))
    assert values(await read(topic)) == ["real"]


async def test_order_within_and_between_puts(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    subject = relay(max_messages=70)
    async with running(subject):
        for batch in range(10):
            async with db.transaction() as tx:
                await outbox.put(tx, [Message(topic, b"k", f"{batch}-{n:03d}".encode()) for n in range(100)])
            outbox.wake()
        await eventually(lambda: empty(subject))
    assert values(await read(topic)) == [f"{batch}-{n:03d}" for batch in range(10) for n in range(100)]


async def watermark_relay(db: Database, producer: KafkaProducer, stop: asyncio.Event) -> None:
    """Relay the naive way: remember the last sent id, and read above it."""
    last = 0
    while not stop.is_set():
        async with db.connection() as connection:
            cursor = await connection.execute(
                "SELECT id, topic, key, value FROM outbox WHERE id > %s ORDER BY id", (last,)
            )
            rows = await cursor.fetchall()
        if rows:
            await producer.send([Message(topic, key, value) for _, topic, key, value in rows])
            last = rows[-1][0]
        await asyncio.sleep(0.01)


class Watermark:
    def __init__(self, db: Database, producer: KafkaProducer) -> None:
        self._db, self._producer = db, producer

    async def run(self, stop: asyncio.Event) -> None:
        await watermark_relay(self._db, self._producer, stop)


@pytest.mark.parametrize(("way", "lost"), [("real", []), ("watermark", ["early id, late commit"])])
async def test_a_late_committer_with_an_early_id(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    producer: KafkaProducer,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    way: str,
    lost: list[str],
) -> None:
    topic = await make_topic()
    subject = relay() if way == "real" else Watermark(db, producer)
    async with running(subject):
        async with db.transaction() as late:
            await outbox.put(late, [Message(topic, b"a", b"early id, late commit")])
            async with db.transaction() as early:
                await outbox.put(early, [Message(topic, b"b", b"late id, early commit")])
            await eventually(arrived(read, topic, 1))
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"c", b"after both")])
        await eventually(lambda: sent(read, topic, "after both"))
    assert set(lost) == {"early id, late commit", "late id, early commit", "after both"} - set(
        values(await read(topic))
    )


async def sent(read: Read, topic: str, value: str) -> bool:
    return value in values(await read(topic))


async def test_a_commit_between_sending_and_removal_is_not_removed_unsent(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    producer: KafkaProducer,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    drawn, sent, committed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def commit_late() -> None:
        async with db.transaction() as late:
            await outbox.put(late, [Message(topic, b"a", b"early id, late commit")])
            drawn.set()
            await sent.wait()
        committed.set()

    class InBetween:
        async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
            await producer.send(messages, limit_s=limit_s)
            sent.set()
            await committed.wait()

    writer = asyncio.create_task(commit_late())
    await drawn.wait()
    async with db.transaction() as tx:
        await outbox.put(tx, [Message(topic, b"b", b"late id")])
    subject = relay(producer=InBetween())
    async with running(subject):
        await eventually(lambda: empty(subject))
    await writer
    assert values(await read(topic)) == ["late id", "early id, late commit"]


@pytest.mark.parametrize(("draws", "keeps_order"), [("after the row lock", True), ("before the row lock", False)])
async def test_order_of_a_key_is_the_order_of_its_commits(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    draws: str,
    keeps_order: bool,
) -> None:
    """Two transactions change the same thing; the ids must be drawn under its lock, or the older change overtakes."""
    topic = await make_topic()
    async with db.transaction() as tx:
        await tx.execute("INSERT INTO things VALUES ('x', 0)")

    async def change(tx: Tx) -> bytes:
        cursor = await tx.execute("UPDATE things SET version = version + 1 WHERE name = 'x' RETURNING version")
        row = await cursor.fetchone()
        assert row is not None
        return str(row[0]).encode()

    async def put_early(tx: Tx) -> None:
        await outbox.put(tx, [Message(topic, b"x", b"?")])

    async with db.transaction() as slow:
        if not keeps_order:
            await put_early(slow)  # draws the smaller id, commits second
        async with db.transaction() as quick:
            await outbox.put(quick, [Message(topic, b"x", await change(quick))])
        version = await change(slow)
        if keeps_order:
            await outbox.put(slow, [Message(topic, b"x", version)])
        else:
            await slow.execute("UPDATE outbox SET value = %s WHERE value = '?'", (version,))
    async with running(relay()):
        await eventually(arrived(read, topic, 2))
    assert (values(await read(topic)) == ["1", "2"]) == keeps_order


async def test_order_per_key_under_many_writers(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    async with db.transaction() as tx:
        await tx.execute("INSERT INTO things SELECT n::text, 0 FROM generate_series(0, 4) n")

    async def write(writer: int) -> None:
        for step in range(40):
            name = str((writer + step) % 5)
            async with db.transaction() as tx:
                cursor = await tx.execute(
                    "UPDATE things SET version = version + 1 WHERE name = %s RETURNING version", (name,)
                )
                [(version,)] = await cursor.fetchall()
                await outbox.put(tx, [Message(topic, name.encode(), str(version).encode())])
            outbox.wake()

    subject = relay()
    async with running(subject):
        await asyncio.gather(*(write(writer) for writer in range(3)))
        await eventually(lambda: empty(subject))
    versions: dict[bytes | None, list[int]] = {}
    for message in await read(topic):
        versions.setdefault(message.key(), []).append(int(value_of(message)))
    assert {key: found == list(range(1, len(found) + 1)) for key, found in versions.items()} == dict.fromkeys(
        (b"0", b"1", b"2", b"3", b"4"), True
    )
    assert sum(map(len, versions.values())) == 120


async def test_death_between_acknowledgement_and_removal_sends_again(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    producer: KafkaProducer,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    async with db.transaction() as tx:
        await outbox.put(tx, [Message(topic, b"k", str(n).encode()) for n in range(5)])

    class Dying:
        died = False

        async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
            await producer.send(messages, limit_s=limit_s)
            if not self.died:
                self.died = True
                raise ConnectionError("died after the acknowledgement")

    subject = relay(producer=Dying())
    async with running(subject):
        await eventually(lambda: empty(subject))
    assert values(await read(topic)) == ["0", "1", "2", "3", "4"] * 2


async def test_one_relay_at_a_time_and_the_next_one_takes_over(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    producer: KafkaProducer,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    senders: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self._name = name

        async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
            senders.append(self._name)
            await producer.send(messages, limit_s=limit_s)

    async def put(value: bytes) -> None:
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", value)])

    async with running(relay("first", producer=Named("first"))):
        await put(b"1")
        await eventually(arrived(read, topic, 1))
        second = running(relay("second", ttl_s=3, producer=Named("second")))  # retries often
        await second.__aenter__()
        for n in range(2, 6):
            await put(str(n).encode())
        await eventually(arrived(read, topic, 5))
        assert set(senders) == {"first"}
    await put(b"6")
    await eventually(arrived(read, topic, 6))
    await second.__aexit__(None, None, None)
    assert senders[-1] == "second"
    assert values(await read(topic)) == ["1", "2", "3", "4", "5", "6"]


async def test_relay_that_lost_its_lease_stops_sending(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    producer: KafkaProducer,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    """Another holder takes its lease unnoticed, as after a pause; the guard keeps it from reading on."""
    topic = await make_topic()
    sent: list[bytes] = []

    class Counting:
        async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
            sent.extend(message.value for message in messages)
            await producer.send(messages, limit_s=limit_s)

    async with running(relay("first", producer=Counting())):
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", b"1")])
        await eventually(arrived(read, topic, 1))
        async with db.transaction() as tx:
            await tx.execute(
                "UPDATE leases SET holder = 'thief', fence = fence + 1, expires_at = clock_timestamp() + interval '1 h'"
                " WHERE name = 'outbox:0'"
            )
            await outbox.put(tx, [Message(topic, b"k", b"2")])

        async def is_kept() -> bool:
            async with db.connection() as connection:
                row = await (await connection.execute("SELECT count(*) FROM outbox")).fetchone()
            return row == (1,)

        await eventually(is_kept)
        outbox.wake()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            assert b"2" not in sent  # the first one may be sent again, as its response was late
            await asyncio.sleep(0.05)
    assert set(values(await read(topic))) == {"1"}


async def test_wake_spares_the_wait_for_the_next_look(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay_module, "_FIRST_PAUSE_S", 100.0)  # no poll within the test
    topic = await make_topic()
    async with running(relay(max_idle_s=100)):
        for n in range(3):
            async with db.transaction() as tx:
                await outbox.put(tx, [Message(topic, b"k", str(n).encode())])
            outbox.wake()
            await eventually(arrived(read, topic, n + 1))


async def test_messages_gather_after_a_few_were_sent(
    db: Database,
    producer: KafkaProducer,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    sends: list[tuple[float, float]] = []

    class Slow:
        async def send(self, messages: Sequence[Message], *, limit_s: float | None = 30.0) -> None:
            began_s = time.monotonic()
            await asyncio.sleep(0.1)
            await producer.send(messages, limit_s=limit_s)
            sends.append((began_s, time.monotonic()))

    async def put(value: bytes) -> None:
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", value)])
        outbox.wake()

    async with running(relay(producer=Slow())):
        for number in range(30):
            await put(str(number).encode())
            await asyncio.sleep(0.01)
        await eventually(arrived(read, topic, 30))
    assert min(began_s - ended_s for (_, ended_s), (began_s, _) in itertools.pairwise(sends)) >= relay_module._GATHER_S


async def test_a_look_at_an_empty_outbox_takes_no_lock_and_sees_what_comes(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()

    async def scans(table: str) -> int:
        """Return how often the table was read; each connection reports its statistics within a second."""
        counted = "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = %s"
        async with db.connection() as connection:
            row = await (await connection.execute(counted, [table])).fetchone()
        return row[0] if row else 0

    async def is_seen_often() -> bool:
        return await scans("outbox") > 50

    async with running(relay(outbox=None, max_idle_s=0.01)):
        await eventually(is_seen_often)
        assert await scans("leases") < 10, "the lease is checked before something is sent, and renewed"
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", b"late")])
        await eventually(arrived(read, topic, 1))


async def test_shards_are_apart(
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    async with db.transaction() as tx:
        await outbox.put(tx, [Message(topic, b"k", b"zero")], shard=0)
        await outbox.put(tx, [Message(topic, b"k", b"one")], shard=1)
    other = relay(shard=1)
    async with running(other):
        await eventually(arrived(read, topic, 1))
    assert values(await read(topic)) == ["one"]
    assert (await other.backlog(), await relay(shard=0).backlog()) == (0, 1)


async def test_too_large_a_message_is_refused_where_it_is_made(db: Database, outbox: Outbox) -> None:
    async with db.transaction() as tx:
        with pytest.raises(InvalidArgument, match="split it"):
            await outbox.put(tx, [Message("t", b"k", b"ok"), Message("t", b"k", bytes(1_000_001))])
    async with db.connection() as connection:
        assert await (await connection.execute("SELECT count(*) FROM outbox")).fetchone() == (0,)


@pytest.mark.slow
async def test_kafka_away_and_back(
    kafka: EmbeddedKafka,
    db: Database,
    outbox: Outbox,
    relay: MakeRelay,
    read: Read,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
) -> None:
    topic = await make_topic()
    subject = relay()
    async with running(subject):
        kafka.kill()
        async with db.transaction() as tx:
            await outbox.put(tx, [Message(topic, b"k", str(n).encode()) for n in range(50)])
        outbox.wake()
        kafka.spawn()
        await asyncio.to_thread(kafka.wait_ready, 300)
        await eventually(lambda: empty(subject), 300)
    # Messages that the broker may have stored before it stopped are sent again, in order.
    assert list(dict.fromkeys(values(await read(topic)))) == [str(n) for n in range(50)]


async def test_hot_query_reads_the_front_of_the_key(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO outbox (shard, topic, value, headers)"
            " SELECT n % 2, 't', 'v', '{}' FROM generate_series(1, 20000) n"
        )
    async with db.connection() as connection:
        await connection.execute("ANALYZE outbox")
        query = load_queries("classifeed_common.outbox")["read_front"]
        cursor = await connection.execute("EXPLAIN " + query, {"shard": 0, "after": 0, "limit": 1000})
        plan = "\n".join(line for (line,) in await cursor.fetchall())
    assert "outbox_pkey" in plan
    assert "Sort" not in plan
    assert "Seq Scan" not in plan

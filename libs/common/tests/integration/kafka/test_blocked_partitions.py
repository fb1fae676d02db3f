"""A record that fails blocks its own partition: the others continue; blocked ones are reported, counted and retried."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer
from prometheus_client import REGISTRY

from classifeed_common.db import Tx
from classifeed_common.errors import Unavailable
from classifeed_common.faults import lasting
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, Message, OrderedConsumer, Poison, Record, dlq
from classifeed_common.telemetry import metrics
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import Eventually, Handle, Ledger, MakeConsumer, ReadLetters, Running, Send, headers_of, value_of

pytestmark = pytest.mark.kafka


class Panic(BaseException):
    """A BaseException, like pyo3's exception for a panic."""


def failing(ledger: Ledger, bad: set[str], error: type[BaseException] = ValueError) -> Handle:
    """Write the records, then fail while one of them is `bad`."""

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        await ledger.write(tx, records)
        found = bad & {record.value.decode() for record in records}
        if found:
            raise error(f"cannot be applied: {found}")

    return handle


def polling_at_once(subject: OrderedConsumer[Tx], count: int, monkeypatch: pytest.MonkeyPatch) -> OrderedConsumer[Tx]:
    """Make the first `count` records come in one poll, even if the broker sends them in several."""
    gathered: list[Record] = []
    poll, is_whole = subject._reader.poll, False

    async def poll_until_whole(max_records: int, timeout_s: float) -> list[Record]:
        nonlocal is_whole
        records = await poll(max_records, timeout_s)
        if is_whole:
            return records
        gathered.extend(records)
        is_whole = len(gathered) >= count
        return gathered if is_whole else []

    monkeypatch.setattr(subject._reader, "poll", poll_until_whole)
    return subject


def gauge(name: str, group: str, topic: str, partition: int) -> float | None:
    labels = {"group": group, "topic": topic, "partition": str(partition)}
    return REGISTRY.get_sample_value(name, labels)


@pytest.mark.parametrize("fault", [ValueError, Panic])
async def test_a_record_that_fails_blocks_its_own_partition(
    fault: type[BaseException],
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    topic = await make_topic(partitions=4)
    first = [await send(topic, 3, partition=partition) for partition in range(4)]
    bad = {first[2][1]}
    subject = polling_at_once(consumer(topic, handle=failing(ledger, bad, fault)), 12, monkeypatch)
    replaced = metrics.REOPENED.labels(topic_prefix + "group")._value.get()
    others = [*first[0], *first[1], *first[3]]
    async with running(subject):
        await eventually(ledger.holding(others))
        others += await send(topic, 5, partition=0)
        await eventually(ledger.holding(others))
        assert set(await ledger.values()) == set(others), "nothing of the blocked one has taken effect"
        words = subject.blocked()[f"{topic}[2]"]
        assert "offset 0 has failed for" in words
        assert bad.copy().pop() in words
        group = topic_prefix + "group"

        async def shown() -> bool:
            return gauge("classifeed_consumer_blocked_seconds", group, topic, 2) is not None

        await eventually(shown)
        assert gauge("classifeed_consumer_blocked_seconds", group, topic, 0) is None
        late = await send(topic, 2, partition=2)
        bad.clear()
        await eventually(ledger.holding([*others, *first[2], *late]))
        assert subject.blocked() == {}
        assert gauge("classifeed_consumer_blocked_seconds", group, topic, 2) is None
        assert metrics.REOPENED.labels(group)._value.get() == replaced, "it went on by itself"
    values = await ledger.values()
    assert sorted(values) == sorted([*others, *first[2], *late]), "each once"
    assert [value for value in values if value in {*first[2], *late}] == [*first[2], *late], "in their order"


async def test_faults_of_the_surroundings_cost_one_attempt_for_all_partitions(
    consumer: MakeConsumer,
    ledger: Ledger,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise each partition in turn would wait for a database that takes ten seconds to refuse."""
    topic = await make_topic(partitions=4)
    sent = [value for partition in range(4) for value in await send(topic, 2, partition=partition)]
    attempts: list[set[int]] = []
    is_away = True

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        attempts.append({record.partition for record in records})
        if is_away:
            raise Unavailable("AWAY", "the database is away")
        await ledger.write(tx, records)

    async def tried() -> bool:
        return len(attempts) >= 3

    async with running(polling_at_once(consumer(topic, handle=handle), 8, monkeypatch)):
        await eventually(tried)
        assert all(parts == {0, 1, 2, 3} for parts in attempts), attempts
        is_away = False
        await eventually(ledger.holding(sent))
    assert sorted(await ledger.values()) == sent


async def test_dead_letters_that_nobody_takes_block_one_partition(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = await make_topic(partitions=2)
    await cluster.remove([dlq(topic)])
    bad = await send(topic, 1, partition=0)
    good = await send(topic, 1, partition=1)

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        for record in records:
            if record.value.decode() in bad:
                raise Poison(record, "it has no price")
        await ledger.write(tx, records)

    subject = polling_at_once(consumer(topic, handle=handle, dead_letters=DeadLetters(producer)), 2, monkeypatch)
    async with running(subject):
        await eventually(ledger.holding(good))
        monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)

        async def named() -> bool:
            return dlq(topic) in subject.blocked().get(f"{topic}[0]", "")

        await eventually(named)
        good += await send(topic, 3, partition=1)
        await eventually(ledger.holding(good))


@pytest.mark.parametrize(
    ("size", "is_cut"), [(999_000, False), (1_040_000, True), (30_000_000, True), (900_000, False)]
)
async def test_a_record_larger_than_a_message_of_ours_becomes_a_dead_letter(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    send: Send,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    read_letters: ReadLetters,
    size: int,
    is_cut: bool,
) -> None:
    """Another client may send larger records, and 30 MB of zeros are compressed to some kilobytes."""
    topic = await make_topic()
    other = Producer(
        {"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 100_000_000, "compression.type": "lz4"}
    )
    garbage = bytes(size) if size > 2_000_000 else bytes(number % 251 for number in range(size))
    other.produce(topic, garbage, b"key")
    assert other.flush(60) == 0
    sent = await send(topic, 3)

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        for record in records:
            if len(record.value) > 100:
                raise Poison(record, "is not a request")
        await ledger.write(tx, records)

    async with running(consumer(topic, handle=handle, dead_letters=DeadLetters(producer))):
        await eventually(ledger.holding(sent))
    [letter] = await asyncio.to_thread(read_letters, dlq(topic), 1)
    headers = headers_of(letter)
    assert headers["dlq-reason"] == b"is not a request"
    assert (headers["dlq-topic"], headers["dlq-offset"]) == (topic.encode(), b"0")
    assert headers.get("dlq-cut") == (f"value {size}".encode() if is_cut else None)
    assert garbage.startswith(value_of(letter))
    assert len(value_of(letter)) > 890_000


async def test_a_record_with_a_huge_key_and_huge_headers_becomes_a_dead_letter(
    kafka: EmbeddedKafka,
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    read_letters: ReadLetters,
    send: Send,
) -> None:
    topic = await make_topic()
    other = Producer(
        {"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 100_000_000, "compression.type": "lz4"}
    )
    other.produce(topic, b"value", bytes(500_000), headers=[("h", bytes(500_000))])
    assert other.flush(60) == 0
    sent = await send(topic, 1)

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        if records[0].offset == 0:
            raise Poison(records[0], "is not a request")
        await ledger.write(tx, records)

    async with running(consumer(topic, handle=handle, dead_letters=DeadLetters(producer))):
        await eventually(ledger.holding(sent))
    [letter] = await asyncio.to_thread(read_letters, dlq(topic), 1)
    assert headers_of(letter)["dlq-cut"] == b"key 500000, headers 500001"
    assert (value_of(letter), len(letter.key() or b"")) == (b"value", 16 * 1024)


async def test_poison_found_at_once_costs_one_attempt(
    consumer: MakeConsumer,
    ledger: Ledger,
    producer: KafkaProducer,
    make_topic: MakeTopic,
    running: type[Running],
    eventually: Eventually,
    read_letters: ReadLetters,
) -> None:
    topic = await make_topic()
    await producer.send([Message(topic, b"k", b"bad" if at % 2 else b"%d" % at) for at in range(100)])
    attempts = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal attempts
        attempts += 1
        bad = [(record, "bad") for record in records if record.value == b"bad"]
        if bad:
            raise Poison(*bad[0], others=bad[1:])
        await ledger.write(tx, records)

    async def handled() -> bool:
        return await ledger.positions(topic) == {0: 100}

    async with running(consumer(topic, handle=handle, dead_letters=DeadLetters(producer), max_records=100)):
        await eventually(handled)
    assert await ledger.values() == [str(at) for at in range(0, 100, 2)]
    letters = await asyncio.to_thread(read_letters, dlq(topic), 50)
    assert len(letters) == 50
    assert attempts < 150, "each of them would have had the whole batch handled again"

"""A record that fails blocks its own partition: the others continue; blocked ones are reported, counted and retried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from confluent_kafka import Producer
from prometheus_client import REGISTRY

from classifeed_common.db import Tx
from classifeed_common.errors import Unavailable
from classifeed_common.faults import lasting
from classifeed_common.kafka import Message, OrderedConsumer, Poison, Record, dlq
from classifeed_common.telemetry import metrics
from classifeed_devkit.testing.recovery import until

from .conftest import ConsumerScene, Handle
from .topic_scene import Running, headers_of, value_of

pytestmark = pytest.mark.kafka


class Panic(BaseException):
    """A BaseException, like pyo3's exception for a panic."""


def refusing(scene: ConsumerScene, is_bad: Callable[[Record], bool], reason: str) -> Handle:
    """Write the records, unless one of them is bad."""

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        for record in records:
            if is_bad(record):
                raise Poison(record, reason)
        await scene.write(tx, records)

    return handle


def send_as_another_client(scene: ConsumerScene, value: bytes, key: bytes, **changes: Any) -> None:
    """Send a record that is larger than our producer accepts."""
    other = Producer(
        {"bootstrap.servers": scene.kafka.bootstrap, "message.max.bytes": 100_000_000, "compression.type": "lz4"}
    )
    other.produce(scene.topic, value, key, **changes)
    assert other.flush(60) == 0


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


def blocked_seconds(scene: ConsumerScene, partition: int) -> float | None:
    labels = {"group": scene.group, "topic": scene.topic, "partition": str(partition)}
    return REGISTRY.get_sample_value("classifeed_consumer_blocked_seconds", labels)


@pytest.mark.partitions(4)
@pytest.mark.parametrize("fault", [ValueError, Panic])
async def test_a_record_that_fails_blocks_its_own_partition(
    scene: ConsumerScene, fault: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    first = [await scene.send(3, partition=partition) for partition in range(4)]
    bad = {first[2][1]}

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        await scene.write(tx, records)
        found = bad & {record.value.decode() for record in records}
        if found:
            raise fault(f"cannot be applied: {found}")

    subject = polling_at_once(scene.consumer(handle=handle), 12, monkeypatch)
    replaced = metrics.REOPENED.labels(scene.group)._value.get()
    others = [*first[0], *first[1], *first[3]]
    async with Running(subject):
        await scene.handled(others)
        others += await scene.send(5, partition=0)
        await scene.handled(others)
        assert set(await scene.effects()) == set(others), "nothing of the blocked one has taken effect"
        words = subject.blocked()[f"{scene.topic}[2]"]
        assert "offset 0 has failed for" in words
        assert bad.copy().pop() in words
        await until(lambda: blocked_seconds(scene, 2) is not None)
        assert blocked_seconds(scene, 0) is None
        late = await scene.send(2, partition=2)
        bad.clear()
        await scene.handled()
        assert subject.blocked() == {}
        assert blocked_seconds(scene, 2) is None
        assert metrics.REOPENED.labels(scene.group)._value.get() == replaced, "it resumed with its client"
    effects = await scene.effects()
    assert sorted(effects) == sorted([*others, *first[2], *late]), "each once"
    assert [value for value in effects if value in {*first[2], *late}] == [*first[2], *late], "in their order"


@pytest.mark.partitions(4)
async def test_faults_of_the_surroundings_cost_one_attempt_for_all_partitions(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each partition in turn would wait for a database that takes ten seconds to refuse."""
    for partition in range(4):
        await scene.send(2, partition=partition)
    attempts: list[set[int]] = []
    is_away = True

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        attempts.append({record.partition for record in records})
        if is_away:
            raise Unavailable("AWAY", "the database is away")
        await scene.write(tx, records)

    async with Running(polling_at_once(scene.consumer(handle=handle), 8, monkeypatch)):
        await until(lambda: len(attempts) >= 3)
        assert all(parts == {0, 1, 2, 3} for parts in attempts), attempts
        is_away = False
        await scene.handled()
    assert sorted(await scene.effects()) == scene.sent


@pytest.mark.partitions(2)
async def test_dead_letters_that_nobody_takes_block_one_partition(
    scene: ConsumerScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = dlq(scene.topic)
    await scene.cluster.remove([letters])
    bad = await scene.send(1, partition=0)
    good = await scene.send(1, partition=1)
    handle = refusing(scene, lambda record: record.value.decode() in bad, "it has no price")
    subject = polling_at_once(scene.consumer(handle=handle, dead_letters=scene.dead_letters), 2, monkeypatch)
    async with Running(subject):
        await scene.handled(good)
        monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
        await until(lambda: letters in subject.blocked().get(f"{scene.topic}[0]", ""))
        good += await scene.send(3, partition=1)
        await scene.handled(good)


@pytest.mark.parametrize(
    ("size", "is_cut"), [(999_000, False), (1_040_000, True), (30_000_000, True), (900_000, False)]
)
async def test_a_record_larger_than_a_message_of_ours_becomes_a_dead_letter(
    scene: ConsumerScene, size: int, is_cut: bool
) -> None:
    """Another client may send larger records, and 30 MB of zeros are compressed to some kilobytes."""
    garbage = bytes(size) if size > 2_000_000 else bytes(number % 251 for number in range(size))
    send_as_another_client(scene, garbage, b"key")
    await scene.send(3)
    handle = refusing(scene, lambda record: len(record.value) > 100, "is not a request")
    await scene.consume(handle=handle, dead_letters=scene.dead_letters)
    [letter] = await scene.letters(1)
    headers = headers_of(letter)
    assert headers["dlq-reason"] == b"is not a request"
    assert (headers["dlq-topic"], headers["dlq-offset"]) == (scene.topic.encode(), b"0")
    assert headers.get("dlq-cut") == (f"value {size}".encode() if is_cut else None)
    assert garbage.startswith(value_of(letter))
    assert len(value_of(letter)) > 890_000


async def test_a_record_with_a_huge_key_and_huge_headers_becomes_a_dead_letter(scene: ConsumerScene) -> None:
    send_as_another_client(scene, b"value", bytes(500_000), headers=[("h", bytes(500_000))])
    await scene.send(1)
    handle = refusing(scene, lambda record: record.offset == 0, "is not a request")
    await scene.consume(handle=handle, dead_letters=scene.dead_letters)
    [letter] = await scene.letters(1)
    assert headers_of(letter)["dlq-cut"] == b"key 500000, headers 500001"
    assert (value_of(letter), len(letter.key() or b"")) == (b"value", 16 * 1024)


async def test_poison_found_at_once_costs_one_attempt(scene: ConsumerScene) -> None:
    await scene.producer.send([Message(scene.topic, b"k", b"bad" if at % 2 else b"%d" % at) for at in range(100)])
    attempts = 0

    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        nonlocal attempts
        attempts += 1
        bad = [(record, "bad") for record in records if record.value == b"bad"]
        if bad:
            raise Poison(*bad[0], others=bad[1:])
        await scene.write(tx, records)

    async with scene.consuming(handle=handle, dead_letters=scene.dead_letters, max_records=100):
        await scene.reached({0: 100})
    assert await scene.effects() == [str(at) for at in range(0, 100, 2)]
    assert len(await scene.letters(50)) == 50
    assert attempts < 150, "each of them would have had the whole batch handled again"

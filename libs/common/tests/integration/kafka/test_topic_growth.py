"""Growth of a topic on real Kafka: under load, killed at each step, refused while it is written to or not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
from confluent_kafka import Consumer, TopicPartition
from pydantic import SecretStr

from classifeed_common.db import Database, ddl
from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka import (
    Cluster,
    DeadLetters,
    KafkaProducer,
    Message,
    TablePositions,
    Topic,
    TopicGrown,
    dlq,
)
from classifeed_common.kafka.consuming.takeover import Takeover
from classifeed_common.kafka.partitioner import partition_of
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.topics.growth import TopicGrowth
from classifeed_common.outbox import Outbox
from classifeed_common.runner.growing import grow_topic
from classifeed_common.runner.listening import StartError
from classifeed_common.settings import ServiceSettings
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic

from .conftest import Eventually, Ledger, MakeConsumer, ReadLetters, Report, Running, value_of

pytestmark = pytest.mark.kafka
T = TypeVar("T")
NewProducer = Callable[[], Awaitable[KafkaProducer]]

KEYS = 40
MOVED = [f"key-{n}" for n in range(KEYS) if partition_of(b"key-%d" % n, 4) != partition_of(b"key-%d" % n, 6)]


class Numbers:
    """Values to send with their keys, ascending over all producers."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def messages(self, topic: str, count: int) -> list[Message]:
        found = []
        for _ in range(count):
            number = len(self.sent)
            self.sent.append(f"{number:06d}")
            key = f"key-{number % KEYS}".encode()
            found.append(Message(topic, key, self.sent[-1].encode()))
        return found


@pytest.fixture
async def topic(make_topic: MakeTopic) -> str:
    return await make_topic(partitions=4)


@pytest.fixture
def group(topic_prefix: str) -> str:
    return topic_prefix + "group"


@pytest.fixture
def growth(cluster: Cluster, ledger: Ledger) -> TopicGrowth:
    return TopicGrowth(cluster, ledger.db, quiet_s=0.2, settle_s=0.2)


@pytest.fixture
async def new_producer(kafka: EmbeddedKafka) -> AsyncIterator[NewProducer]:
    """Start producers: one that starts after a growth knows the new number from the start."""
    made: list[KafkaProducer] = []

    async def start() -> KafkaProducer:
        made.append(KafkaProducer(kafka.bootstrap, client_id="test"))
        await made[-1].start()
        return made[-1]

    yield start
    for producer in made:
        await producer.close()


def declared(topic: str, partitions: int = 6) -> Topic:
    return Topic(topic, partitions, 3_600_000)


async def count(cluster: Cluster, topic: str) -> int:
    return (await cluster.topics([topic]))[topic].partitions


async def is_read(ledger: Ledger, cluster: Cluster, topic: str, partitions: int) -> bool:
    ends = await cluster.ends([(topic, at) for at in range(partitions)])
    return await ledger.positions(topic) == {at: end for (_, at), end in ends.items()}


async def test_what_is_sent_before_and_after_takes_effect_once_and_in_order(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    growth: TopicGrowth,
    new_producer: NewProducer,
    eventually: Eventually,
    group: str,
) -> None:
    numbers, stop = Numbers(), asyncio.Event()

    async def load() -> None:
        producer = await new_producer()
        while not stop.is_set():
            await producer.send(numbers.messages(topic, 100))
        await producer.close()

    async with running(consumer(topic, refuses_misplaced=True, metadata_refresh_s=1)):
        loading = asyncio.create_task(load())
        await eventually(lambda: _has(numbers, 3000))
        longer = TopicGrowth(cluster, ledger.db, quiet_s=3, settle_s=0.2)  # longer than the load's waits for the broker
        with pytest.raises(FailedPrecondition) as refused:
            await longer.grow(declared(topic), frozenset({group}))
        assert refused.value.reason in {"GROUP_BEHIND", "TOPIC_BUSY"}
        assert await count(cluster, topic) == 4
        stop.set()
        await loading
        await eventually(lambda: is_read(ledger, cluster, topic, 4))
        assert "has 6 partitions now, before it had 4" in await growth.grow(declared(topic), frozenset({group}))
        assert (await ledger.positions(topic))[5] == 0
        before = len(numbers.sent)
        producer = await new_producer()
        for _ in range(20):
            await producer.send(numbers.messages(topic, 100))
        await eventually(ledger.holding(numbers.sent))
    assert await ledger.report(numbers.sent) == Report()
    assert (await ledger.positions(topic))[4] > 0
    assert MOVED
    assert len(numbers.sent) > before
    assert "nothing was changed" in await growth.grow(declared(topic), frozenset({group}))


async def _has(numbers: Numbers, count: int) -> bool:
    return len(numbers.sent) >= count


async def test_naive_growth_under_a_group_that_is_behind_breaks_the_order(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    eventually: Eventually,
    group: str,
) -> None:
    numbers = Numbers()
    await _leave_behind(topic, consumer, running, ledger, numbers, new_producer, eventually)
    await cluster.grow(topic, 6)
    state = (await cluster.topics([topic]))[topic]
    begins = {GroupPartition(group, topic, at): Position(state.topic_id, 0) for at in (4, 5)}
    await TablePositions(ledger.db).begin(begins)
    producer = await new_producer()
    await producer.send(numbers.messages(topic, 2000))
    async with running(consumer(topic, max_records=20)):
        await eventually(ledger.holding(numbers.sent))
    assert (await ledger.report(numbers.sent)).disordered


async def _leave_behind(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    numbers: Numbers,
    new_producer: NewProducer,
    eventually: Eventually,
) -> None:
    """Let the group begin, stop it, and send more."""
    producer = await new_producer()
    await producer.send(numbers.messages(topic, 100))
    async with running(consumer(topic)):
        await eventually(ledger.holding(numbers.sent))
    await producer.send(numbers.messages(topic, 2000))
    await producer.close()


async def test_a_group_that_was_behind_when_its_topic_was_grown_by_hand_does_not_go_on(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    eventually: Eventually,
) -> None:
    numbers = Numbers()
    await _leave_behind(topic, consumer, running, ledger, numbers, new_producer, eventually)
    await cluster.grow(topic, 6)
    async with running(consumer(topic), ends_with=TopicGrown) as ended:
        pass
    assert "2000 records to read" in str(ended.ended_with)
    assert len(await ledger.rows()) == 100


async def test_a_group_whose_senders_ask_again_goes_on_behind_the_growth(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    eventually: Eventually,
) -> None:
    numbers = Numbers()
    await _leave_behind(topic, consumer, running, ledger, numbers, new_producer, eventually)
    skipped = numbers.sent[100:]
    await cluster.grow(topic, 6)
    producer = await new_producer()
    positions = TablePositions(ledger.db)
    async with running(consumer(topic, positions=positions, on_log_lost=positions.skip_lost)):
        await eventually(lambda: _begun(ledger, topic, 6))
        await producer.send(numbers.messages(topic, 300))
        await eventually(ledger.holding(numbers.sent[2100:]))
    report = await ledger.report(numbers.sent)
    assert (report.doubled, report.disordered) == ((), ())
    assert set(report.lost) == set(skipped)


async def _begun(ledger: Ledger, topic: str, partitions: int) -> bool:
    return len(await ledger.positions(topic)) == partitions


async def test_a_group_that_had_read_everything_goes_on_in_the_new_partitions(
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    eventually: Eventually,
) -> None:
    numbers = Numbers()
    producer = await new_producer()
    await producer.send(numbers.messages(topic, 100))
    await producer.close()
    async with running(consumer(topic)):
        await eventually(ledger.holding(numbers.sent))
    await cluster.grow(topic, 6)
    async with running(consumer(topic)):
        await eventually(lambda: _begun(ledger, topic, 6))
        await (await new_producer()).send(numbers.messages(topic, 400))
        await eventually(ledger.holding(numbers.sent))
    assert await ledger.report(numbers.sent) == Report()


async def test_members_that_begin_one_after_the_other_take_no_start_for_a_growth(
    topic: str, ledger: Ledger, cluster: Cluster, producer: KafkaProducer, group: str
) -> None:
    await producer.send(Numbers().messages(topic, 100))
    takeover = Takeover(cluster, group, TablePositions(ledger.db))
    for at in range(4):
        positions = await takeover.positions_of([(topic, at)])
        assert [position.next for position in positions.values()] == [0]


async def test_a_growth_that_was_skipped_once_is_not_skipped_again_under_load(
    topic: str, ledger: Ledger, cluster: Cluster, producer: KafkaProducer, group: str
) -> None:
    takeover = Takeover(cluster, group, TablePositions(ledger.db))
    await takeover.positions_of([(topic, 0)])
    await producer.send(Numbers().messages(topic, 100))
    await cluster.grow(topic, 6)
    with pytest.raises(TopicGrown) as grown:
        await takeover.positions_of([(topic, 0)])
    await TablePositions(ledger.db).skip_lost(grown.value)
    await producer.send([Message(topic, b"key", b"1", partition=0)])
    assert len(await takeover.positions_of([(topic, 5)])) == 1
    assert (await ledger.positions(topic))[4] == 0


class Killed(BaseException):
    """The process is killed here."""


class DyingCluster(Cluster):
    """Fails before or after the n-th of the calls that a growth makes."""

    dies_at = -1
    calls = 0

    async def _step(self, call: Callable[[], Awaitable[T]]) -> T:
        for is_after in (False, True):
            if self.calls == self.dies_at:
                self.calls += 1
                raise Killed
            self.calls += 1
            if not is_after:
                result = await call()
        return result

    async def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return await self._step(lambda: Cluster.ends(self, partitions))

    async def grow(self, name: str, partitions: int) -> None:
        await self._step(lambda: Cluster.grow(self, name, partitions))


class DyingPositions(TablePositions):
    """Fails after its write."""

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        await super().begin(starts)
        raise Killed


async def test_a_growth_that_is_killed_at_any_step_is_repeated(
    kafka: EmbeddedKafka,
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    eventually: Eventually,
    group: str,
) -> None:
    numbers = Numbers()
    producer = await new_producer()
    await producer.send(numbers.messages(topic, 200))
    await producer.close()
    async with running(consumer(topic)):
        await eventually(ledger.holding(numbers.sent))
    deaths = 0
    for target in (5, 6):  # twice from the start: a grown topic can grow again
        for step in range(12):
            dying = DyingCluster(kafka.bootstrap, client_id="dying")
            dying.dies_at = step
            growth = TopicGrowth(dying, ledger.db, quiet_s=0, settle_s=0)
            if step == 11:
                growth._positions = DyingPositions(ledger.db)
            try:
                await growth.grow(declared(topic, target), frozenset({group}))
            except Killed:
                deaths += 1
        whole = TopicGrowth(cluster, ledger.db, quiet_s=0, settle_s=0)
        await whole.grow(declared(topic, target), frozenset({group}))
        assert await count(cluster, topic) == target
        positions = await ledger.positions(topic)
        assert positions[target - 1] == 0
        assert len(positions) == target
    assert deaths > 8
    await (await new_producer()).send(numbers.messages(topic, 400))
    async with running(consumer(topic, refuses_misplaced=True)):
        await eventually(ledger.holding(numbers.sent))
    assert await ledger.report(numbers.sent) == Report()


async def refused(growth: TopicGrowth, topic: Topic, groups: frozenset[str] = frozenset()) -> FailedPrecondition:
    with pytest.raises(FailedPrecondition) as caught:
        await growth.grow(topic, groups)
    return caught.value


async def test_who_is_behind_is_named_with_how_much(
    kafka: EmbeddedKafka,
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    growth: TopicGrowth,
    new_producer: NewProducer,
    eventually: Eventually,
    group: str,
    topic_prefix: str,
) -> None:
    numbers = Numbers()
    producer = await new_producer()
    await producer.send(numbers.messages(topic, 100))
    never_begun = await refused(growth, declared(topic), frozenset({group}))
    assert never_begun.reason == "GROUP_BEHIND"
    assert f"group {group} is 100 records behind" in never_begun.message
    async with running(consumer(topic)):
        await eventually(ledger.holding(numbers.sent))
    await producer.send([Message(topic, b"k", b"999999", partition=2), Message(topic, b"k", b"999999", partition=2)])
    behind = await refused(growth, declared(topic))
    assert f"group {group} is 2 records behind (2 in partition 2)" in behind.message
    assert await count(cluster, topic) == 4
    async with running(consumer(topic)):
        await eventually(lambda: is_read(ledger, cluster, topic, 4))
    await asyncio.to_thread(_commit, kafka, topic, topic_prefix + "theirs", 3, 1)
    theirs = await refused(growth, declared(topic))
    assert f"group {topic_prefix}theirs is " in theirs.message
    assert group not in theirs.message.replace(topic_prefix + "theirs", "")
    assert await count(cluster, topic) == 4


def _commit(kafka: EmbeddedKafka, topic: str, group: str, partition: int, offset: int) -> None:
    """Act as a reader without a table of positions."""
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    reader.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
    reader.close()


class SendingCluster(Cluster):
    """Sends a record after the n-th request for the ends, as a producer that was not stopped."""

    send: Callable[[], Awaitable[None]]
    after = 0
    calls = 0

    async def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        ends = await super().ends(partitions)
        self.calls += 1
        if self.calls == self.after:
            await self.send()
        return ends


@pytest.mark.parametrize(("after", "partitions"), [(1, 4), (2, 6)], ids=["before", "during"])
async def test_a_producer_that_was_not_stopped_is_noticed(
    kafka: EmbeddedKafka,
    topic: str,
    ledger: Ledger,
    cluster: Cluster,
    new_producer: NewProducer,
    after: int,
    partitions: int,
) -> None:
    producer = await new_producer()
    sending = SendingCluster(kafka.bootstrap, client_id="sending")
    sending.after = after
    sending.send = lambda: producer.send([Message(topic, b"key", b"1", partition=1)])
    busy = await refused(TopicGrowth(sending, ledger.db, quiet_s=0, settle_s=0), declared(topic))
    assert busy.reason == "TOPIC_BUSY"
    assert "1 in partition 1" in busy.message
    assert await count(cluster, topic) == partitions


async def test_messages_in_the_outbox_are_waited_for(
    topic: str, ledger: Ledger, cluster: Cluster, growth: TopicGrowth
) -> None:
    async with ledger.db.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await Outbox().put(tx, [Message(topic, b"key", b"1"), Message(topic + ".other", b"key", b"1")])
    waiting = await refused(growth, declared(topic))
    assert waiting.reason == "TOPIC_BUSY"
    assert "1 messages" in waiting.message
    assert await count(cluster, topic) == 4


async def test_fewer_partitions_and_no_topic_are_refused(topic: str, cluster: Cluster, growth: TopicGrowth) -> None:
    fewer = await refused(growth, declared(topic, 3))
    assert (fewer.reason, await count(cluster, topic)) == ("TOPIC_DIFFERS", 4)
    assert "takes none away" in fewer.message
    assert (await refused(growth, declared(topic + ".absent"))).reason == "TOPIC_MISSING"


@pytest.mark.parametrize("refuses_misplaced", [True, pytest.param(False, id="naive: unnoticed")])
async def test_a_producer_that_still_counts_the_old_partitions_is_refused(
    kafka: EmbeddedKafka,
    topic: str,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    cluster: Cluster,
    producer: KafkaProducer,
    new_producer: NewProducer,
    eventually: Eventually,
    group: str,
    read_letters: ReadLetters,
    refuses_misplaced: bool,
) -> None:
    numbers = Numbers()
    await producer.send(numbers.messages(topic, 100))
    letters = DeadLetters(producer)
    refusals: list[str] = []

    async def refuse(_tx: Any, record: Any, reason: str) -> None:
        refusals.append(record.value.decode())

    changes = {"dead_letters": letters, "refuse": refuse, "refuses_misplaced": refuses_misplaced}
    async with running(consumer(topic, **changes)):
        await eventually(ledger.holding(numbers.sent))
    await TopicGrowth(cluster, ledger.db, quiet_s=0, settle_s=0).grow(declared(topic), frozenset({group}))
    before = len(numbers.sent)
    await producer.send(numbers.messages(topic, 100))  # it has just learned the number of partitions
    old = set(numbers.sent[before:])
    wrong = {value for value in old if f"key-{int(value) % KEYS}" in MOVED}
    await (await new_producer()).send(numbers.messages(topic, 100))
    right = sorted(set(numbers.sent) - wrong)
    async with running(consumer(topic, **changes)):
        await eventually(ledger.holding(right))
        await eventually(lambda: is_read(ledger, cluster, topic, 6))
    effects = set(await ledger.values())
    if refuses_misplaced:
        assert effects == set(right)
        assert set(refusals) == wrong
        found = await asyncio.to_thread(read_letters, dlq(topic), len(wrong))
        assert {value_of(message).decode() for message in found} == wrong
    else:
        assert effects == set(numbers.sent)
        assert not refusals


async def test_partitions_are_those_that_producers_choose(
    topic: str,
    producer: KafkaProducer,
    consumer: MakeConsumer,
    running: type[Running],
    ledger: Ledger,
    eventually: Eventually,
) -> None:
    seen: dict[bytes, int] = {}

    async def note(_tx: Any, records: Sequence[Any]) -> None:
        seen.update({record.key: record.partition for record in records})

    keys = [b"", b"a", "ключ".encode(), *(b"%d" % n * (n % 7 + 1) for n in range(60))]
    await producer.send([Message(topic, key, b"1") for key in keys])
    async with running(consumer(topic, handle=note)):
        await eventually(lambda: _are(seen, len(set(keys))))
    assert seen == {key: partition_of(key, 4) for key in keys}


async def _are(seen: dict[bytes, int], count: int) -> bool:
    return len(seen) == count


class GrowingSettings(ServiceSettings):
    """Settings of a service that reads a topic."""


async def test_the_command_says_what_it_did_or_what_is_in_the_way(
    kafka: EmbeddedKafka,
    topic: str,
    database: Database,
    database_dsn: str,
    ledger: Ledger,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = GrowingSettings(dsn=SecretStr(database_dsn), kafka_bootstrap=kafka.bootstrap, db_schema=database.schema)
    assert await asyncio.to_thread(grow_topic, settings, {declared(topic, 4): ("g",)}, topic) == 0
    assert "has its 4 partitions already; nothing was changed" in capsys.readouterr().err
    assert await asyncio.to_thread(grow_topic, settings, {declared(topic, 3): ("g",)}, topic) == 1
    assert "Kafka takes none away" in capsys.readouterr().err
    with pytest.raises(StartError, match=f"those that it does are: {topic}"):
        grow_topic(settings, {declared(topic): ("g",)}, "another")

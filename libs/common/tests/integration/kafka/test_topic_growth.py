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
from classifeed_common.kafka import Cluster, KafkaProducer, Message, TablePositions, Topic, TopicGrown
from classifeed_common.kafka.consuming.takeover import Takeover
from classifeed_common.kafka.partitioner import partition_of
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.topics.growth import TopicGrowth
from classifeed_common.outbox import Outbox
from classifeed_common.runner.growing import grow_topic
from classifeed_common.runner.listening import StartError
from classifeed_common.settings import ServiceSettings
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.recovery import until

from .conftest import ConsumerScene, Report
from .topic_scene import value_of

pytestmark = [pytest.mark.kafka, pytest.mark.partitions(4)]
T = TypeVar("T")

KEYS = 40
MOVED = [f"key-{n}" for n in range(KEYS) if partition_of(b"key-%d" % n, 4) != partition_of(b"key-%d" % n, 6)]


class GrowthScene(ConsumerScene):
    """A topic with four partitions, which grows to six, and its group."""

    def __init__(self, kafka: EmbeddedKafka, topic: str, database: Database) -> None:
        super().__init__(kafka, topic, database)
        self._made: list[KafkaProducer] = []

    async def __aexit__(self, *raised: object) -> None:
        for producer in self._made:
            await producer.close()
        await super().__aexit__(*raised)

    async def new_producer(self) -> KafkaProducer:
        """Start a producer: one that starts after a growth knows the new number from the start."""
        self._made.append(KafkaProducer(self.kafka.bootstrap, client_id="test"))
        await self._made[-1].start()
        return self._made[-1]

    async def load(self, count: int) -> None:
        """Send numbers of all keys with a new producer."""
        producer = await self.new_producer()
        await self.send(count, keys=KEYS, producer=producer)
        await producer.close()

    async def read_some(self) -> None:
        """Let the group begin, stop it, and send more."""
        await self.load(100)
        await self.consume()
        await self.load(2000)

    def declared(self, partitions: int = 6) -> Topic:
        return Topic(self.topic, partitions, 3_600_000)

    def growth(self, cluster: Cluster | None = None, *, quiet_s: float = 0, settle_s: float = 0) -> TopicGrowth:
        return TopicGrowth(cluster or self.cluster, self.database, quiet_s=quiet_s, settle_s=settle_s)

    async def grow(self, partitions: int = 6, growth: TopicGrowth | None = None) -> str:
        """Grow the topic with its group named, as the command does; return what was done."""
        return await (growth or self.growth()).grow(self.declared(partitions), frozenset({self.group}))

    async def refusal(self, growth: TopicGrowth, topic: Topic, *groups: str) -> FailedPrecondition:
        with pytest.raises(FailedPrecondition) as caught:
            await growth.grow(topic, frozenset(groups))
        return caught.value

    async def partitions(self) -> int:
        return (await self.cluster.topics([self.topic]))[self.topic].partitions

    async def read_to_the_end(self, partitions: int) -> None:
        """Wait until the group has read everything."""
        ends = await self.cluster.ends([(self.topic, at) for at in range(partitions)])
        await self.reached({at: end for (_, at), end in ends.items()})

    async def begun(self, partitions: int) -> None:
        """Wait until the group has a position in each partition."""

        async def is_begun() -> bool:
            return len(await self.positions()) == partitions

        await until(is_begun)


@pytest.fixture
async def scene(kafka: EmbeddedKafka, topic: str, database: Database) -> AsyncIterator[GrowthScene]:
    async with GrowthScene(kafka, topic, database) as scene:
        yield scene


async def test_what_is_sent_before_and_after_takes_effect_once_and_in_order(scene: GrowthScene) -> None:
    stop = asyncio.Event()
    quiet = scene.growth(quiet_s=0.2, settle_s=0.2)

    async def load() -> None:
        producer = await scene.new_producer()
        while not stop.is_set():
            await scene.send(100, keys=KEYS, producer=producer)
        await producer.close()

    async with scene.consuming(refuses_misplaced=True, metadata_refresh_s=1):
        loading = asyncio.create_task(load())
        await until(lambda: len(scene.sent) >= 3000)
        longer = scene.growth(quiet_s=3, settle_s=0.2)  # longer than the load's waits for the broker
        refused = await scene.refusal(longer, scene.declared(), scene.group)
        assert refused.reason in {"GROUP_BEHIND", "TOPIC_BUSY"}
        assert await scene.partitions() == 4
        stop.set()
        await loading
        await scene.read_to_the_end(4)
        assert "has 6 partitions now, before it had 4" in await scene.grow(growth=quiet)
        assert (await scene.positions())[5] == 0
        before = len(scene.sent)
        producer = await scene.new_producer()
        for _ in range(20):
            await scene.send(100, keys=KEYS, producer=producer)
        await scene.handled()
    assert await scene.report() == Report()
    assert (await scene.positions())[4] > 0
    assert MOVED
    assert len(scene.sent) > before
    assert "nothing was changed" in await scene.grow(growth=quiet)


async def test_naive_growth_under_a_group_that_is_behind_breaks_the_order(scene: GrowthScene) -> None:
    await scene.read_some()
    await scene.cluster.grow(scene.topic, 6)
    begin = Position(await scene.topic_id(), 0)
    begins = {GroupPartition(scene.group, scene.topic, at): begin for at in (4, 5)}
    await TablePositions(scene.database).begin(begins)
    await scene.load(2000)
    await scene.consume(max_records=20)
    assert (await scene.report()).disordered


async def test_a_group_that_was_behind_when_its_topic_was_grown_by_hand_does_not_go_on(scene: GrowthScene) -> None:
    await scene.read_some()
    await scene.cluster.grow(scene.topic, 6)
    assert "2000 records to read" in await scene.consume_until(TopicGrown)
    assert len(await scene.effects()) == 100


async def test_a_group_whose_senders_ask_again_goes_on_behind_the_growth(scene: GrowthScene) -> None:
    await scene.read_some()
    skipped = scene.sent[100:]
    await scene.cluster.grow(scene.topic, 6)
    positions = TablePositions(scene.database)
    async with scene.consuming(positions=positions, on_log_lost=positions.skip_lost):
        await scene.begun(6)
        await scene.load(300)
        await scene.handled(scene.sent[2100:])
    report = await scene.report()
    assert (report.doubled, report.disordered) == ((), ())
    assert set(report.lost) == set(skipped)


async def test_a_group_that_had_read_everything_goes_on_in_the_new_partitions(scene: GrowthScene) -> None:
    await scene.load(100)
    await scene.consume()
    await scene.cluster.grow(scene.topic, 6)
    async with scene.consuming():
        await scene.begun(6)
        await scene.load(400)
        await scene.handled()
    assert await scene.report() == Report()


async def test_members_that_begin_one_after_the_other_take_no_start_for_a_growth(scene: GrowthScene) -> None:
    await scene.load(100)
    takeover = Takeover(scene.cluster, scene.group, TablePositions(scene.database))
    for at in range(4):
        positions = await takeover.positions_of([(scene.topic, at)])
        assert [position.next for position in positions.values()] == [0]


async def test_a_growth_that_was_skipped_once_is_not_skipped_again_under_load(scene: GrowthScene) -> None:
    takeover = Takeover(scene.cluster, scene.group, TablePositions(scene.database))
    await takeover.positions_of([(scene.topic, 0)])
    await scene.load(100)
    await scene.cluster.grow(scene.topic, 6)
    with pytest.raises(TopicGrown) as grown:
        await takeover.positions_of([(scene.topic, 0)])
    await TablePositions(scene.database).skip_lost(grown.value)
    await scene.send(1, partition=0)
    assert len(await takeover.positions_of([(scene.topic, 5)])) == 1
    assert (await scene.positions())[4] == 0


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


async def test_a_growth_that_is_killed_at_any_step_is_repeated(scene: GrowthScene) -> None:
    await scene.load(200)
    await scene.consume()
    deaths = 0
    for target in (5, 6):  # twice from the start: a grown topic can grow again
        for step in range(12):
            dying = DyingCluster(scene.kafka.bootstrap, client_id="dying")
            dying.dies_at = step
            growth = scene.growth(dying)
            if step == 11:
                growth._positions = DyingPositions(scene.database)
            try:
                await scene.grow(target, growth)
            except Killed:
                deaths += 1
        await scene.grow(target)
        assert await scene.partitions() == target
        positions = await scene.positions()
        assert positions[target - 1] == 0
        assert len(positions) == target
    assert deaths > 8
    await scene.load(400)
    await scene.consume(refuses_misplaced=True)
    assert await scene.report() == Report()


async def test_who_is_behind_is_named_with_how_much(scene: GrowthScene) -> None:
    growth, topic, group = scene.growth(quiet_s=0.2, settle_s=0.2), scene.declared(), scene.group
    producer = await scene.new_producer()
    await scene.send(100, keys=KEYS, producer=producer)
    never_begun = await scene.refusal(growth, topic, group)
    assert never_begun.reason == "GROUP_BEHIND"
    assert f"group {group} is 100 records behind" in never_begun.message
    await scene.consume()
    await scene.send(2, partition=2, producer=producer)
    behind = await scene.refusal(growth, topic)
    assert f"group {group} is 2 records behind (2 in partition 2)" in behind.message
    assert await scene.partitions() == 4
    async with scene.consuming():
        await scene.read_to_the_end(4)
    theirs = scene.topic + ".theirs"
    await asyncio.to_thread(_commit, scene, theirs, 3, 1)
    refused = await scene.refusal(growth, topic)
    assert f"group {theirs} is " in refused.message
    assert group not in refused.message.replace(theirs, "")
    assert await scene.partitions() == 4


def _commit(scene: GrowthScene, group: str, partition: int, offset: int) -> None:
    """Act as a reader without a table of positions."""
    reader = Consumer({"bootstrap.servers": scene.kafka.bootstrap, "group.id": group})
    reader.commit(offsets=[TopicPartition(scene.topic, partition, offset)], asynchronous=False)
    reader.close()


class SendingCluster(Cluster):
    """Sends a record after the n-th request for the ends, as a producer that was not stopped."""

    send: Callable[[], Awaitable[object]]
    after = 0
    calls = 0

    async def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        ends = await super().ends(partitions)
        self.calls += 1
        if self.calls == self.after:
            await self.send()
        return ends


@pytest.mark.parametrize(("after", "partitions"), [(1, 4), (2, 6)], ids=["before", "during"])
async def test_a_producer_that_was_not_stopped_is_noticed(scene: GrowthScene, after: int, partitions: int) -> None:
    sending = SendingCluster(scene.kafka.bootstrap, client_id="sending")
    sending.after = after
    sending.send = lambda: scene.send(1, partition=1)
    busy = await scene.refusal(scene.growth(sending), scene.declared())
    assert busy.reason == "TOPIC_BUSY"
    assert "1 in partition 1" in busy.message
    assert await scene.partitions() == partitions


async def test_messages_in_the_outbox_are_waited_for(scene: GrowthScene) -> None:
    async with scene.database.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await Outbox().put(tx, [Message(scene.topic, b"key", b"1"), Message(scene.topic + ".other", b"key", b"1")])
    waiting = await scene.refusal(scene.growth(quiet_s=0.2, settle_s=0.2), scene.declared())
    assert waiting.reason == "TOPIC_BUSY"
    assert "1 messages" in waiting.message
    assert await scene.partitions() == 4


async def test_fewer_partitions_and_no_topic_are_refused(scene: GrowthScene) -> None:
    growth = scene.growth(quiet_s=0.2, settle_s=0.2)
    fewer = await scene.refusal(growth, scene.declared(3))
    assert (fewer.reason, await scene.partitions()) == ("TOPIC_DIFFERS", 4)
    assert "takes none away" in fewer.message
    absent = await scene.refusal(growth, Topic(scene.topic + ".absent", 6, 3_600_000))
    assert absent.reason == "TOPIC_MISSING"


@pytest.mark.parametrize("refuses_misplaced", [True, pytest.param(False, id="naive: unnoticed")])
async def test_a_producer_that_still_counts_the_old_partitions_is_refused(
    scene: GrowthScene, refuses_misplaced: bool
) -> None:
    await scene.send(100, keys=KEYS)
    refusals: list[str] = []

    async def refuse(_tx: Any, record: Any, reason: str) -> None:
        refusals.append(record.value.decode())

    changes: dict[str, Any] = {
        "dead_letters": scene.dead_letters,
        "refuse": refuse,
        "refuses_misplaced": refuses_misplaced,
    }
    await scene.consume(**changes)
    await scene.grow()
    old = await scene.send(100, keys=KEYS)  # its producer has just learned the number of partitions
    wrong = {value for value in old if f"key-{int(value) % KEYS}" in MOVED}
    await scene.load(100)
    right = sorted(set(scene.sent) - wrong)
    async with scene.consuming(**changes):
        await scene.handled(right)
        await scene.read_to_the_end(6)
    effects = set(await scene.effects())
    if refuses_misplaced:
        assert effects == set(right)
        assert set(refusals) == wrong
        assert {value_of(letter).decode() for letter in await scene.letters(len(wrong))} == wrong
    else:
        assert effects == set(scene.sent)
        assert not refusals


async def test_partitions_are_those_that_producers_choose(scene: GrowthScene) -> None:
    seen: dict[bytes, int] = {}

    async def note(_tx: Any, records: Sequence[Any]) -> None:
        seen.update({record.key: record.partition for record in records})

    keys = [b"", b"a", "ключ".encode(), *(b"%d" % n * (n % 7 + 1) for n in range(60))]
    await scene.producer.send([Message(scene.topic, key, b"1") for key in keys])
    async with scene.consuming(handle=note):
        await until(lambda: len(seen) == len(set(keys)))
    assert seen == {key: partition_of(key, 4) for key in keys}


class GrowingSettings(ServiceSettings):
    """Settings of a service that reads a topic."""


async def test_the_command_says_what_it_did_or_what_is_in_the_way(
    scene: GrowthScene, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn, schema = SecretStr(scene.database.dsn), scene.database.schema
    settings = GrowingSettings(dsn=dsn, kafka_bootstrap=scene.kafka.bootstrap, db_schema=schema)
    topic = scene.topic
    assert await asyncio.to_thread(grow_topic, settings, {scene.declared(4): ("g",)}, topic) == 0
    assert "has its 4 partitions already; nothing was changed" in capsys.readouterr().err
    assert await asyncio.to_thread(grow_topic, settings, {scene.declared(3): ("g",)}, topic) == 1
    assert "Kafka takes none away" in capsys.readouterr().err
    with pytest.raises(StartError, match=f"those that it does are: {topic}"):
        grow_topic(settings, {scene.declared(): ("g",)}, "another")

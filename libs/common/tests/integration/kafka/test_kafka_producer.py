"""KafkaProducer with real Kafka: acknowledged messages are stored, in order, even if the broker is killed."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_common.kafka import MAX_MESSAGE_BYTES, KafkaProducer, Message
from classifeed_common.kafka import producer as producer_module
from classifeed_devkit.embedded.kafka import EmbeddedKafka

from .topic_scene import TopicScene, value_of

pytestmark = pytest.mark.kafka


@pytest.fixture
def scene(topic_scene: TopicScene) -> TopicScene:
    return topic_scene


async def test_what_was_sent_is_there_when_send_returns(scene: TopicScene) -> None:
    await scene.producer.send([Message(scene.topic, b"k", str(n).encode(), {"type": b"x"}) for n in range(5000)])
    found = await scene.read()
    assert [int(value_of(message)) for message in found] == list(range(5000))
    assert found[0].headers() == [("type", b"x")]


async def test_nothing_to_send_needs_no_broker() -> None:
    await KafkaProducer("127.0.0.1:1", client_id="t").send([])


async def test_sends_at_the_same_time_return_each_with_its_own(scene: TopicScene) -> None:
    sends = [
        scene.producer.send([Message(scene.topic, b"k", f"{s}-{n:03d}".encode()) for n in range(200)])
        for s in range(10)
    ]
    await asyncio.gather(*sends)
    found = [value_of(message).decode() for message in await scene.read()]
    assert sorted(found) == [f"{s}-{n:03d}" for s in range(10) for n in range(200)]
    for s in range(10):
        mine = [value for value in found if value.startswith(f"{s}-")]
        assert mine == sorted(mine)


@pytest.mark.partitions(4)
async def test_a_key_keeps_its_partition_and_a_named_partition_is_taken(scene: TopicScene) -> None:
    await scene.producer.send([Message(scene.topic, b"same", b"1"), Message(scene.topic, b"same", b"2")])
    await scene.producer.send([Message(scene.topic, b"same", b"3", partition=partition) for partition in range(4)])
    # murmur2 of "same" on 4 partitions, as in Kafka's Java clients: other tools must find the same partition.
    assert [[message.value() for message in await scene.read(partition=partition)] for partition in range(4)] == [
        [b"1", b"2", b"3"] if partition == _murmur2(b"same") % 4 else [b"3"] for partition in range(4)
    ]


@pytest.mark.slow
async def test_a_topic_that_does_not_exist_is_told(scene: TopicScene) -> None:
    topics = [scene.topic, scene.topic + ".nowhere"]
    with pytest.raises(Unavailable, match=f"refused messages to {topics[1]}"):
        await scene.producer.send([Message(topic, b"k", b"v") for topic in topics], limit_s=120)


async def test_too_large_a_message_is_refused_before_anything_is_sent(scene: TopicScene) -> None:
    with pytest.raises(InvalidArgument, match="split it"):
        await scene.producer.send(
            [Message(scene.topic, b"k", b"v"), Message(scene.topic, b"k", bytes(MAX_MESSAGE_BYTES + 1))]
        )
    assert await scene.read() == []
    await scene.producer.send([Message(scene.topic, b"k", bytes(MAX_MESSAGE_BYTES - 600))])
    assert len(await scene.read()) == 1


async def test_absent_broker_is_told_within_the_limit() -> None:
    producer = KafkaProducer("127.0.0.1:1", client_id="t")
    await producer.start()
    async with asyncio.timeout(60):
        with pytest.raises(Unavailable, match="they may still arrive"):
            await producer.send([Message("t", b"k", b"v")], limit_s=0.5)
    await producer.close()


async def test_a_client_that_delivers_nothing_is_replaced_and_its_senders_hear_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Like a client that has lost its brokers for good: this one never had any, and another one seems to reach them."""
    monkeypatch.setattr(producer_module, "_STALLED_S", 0.3)
    monkeypatch.setattr(producer_module, "_PROBE_EVERY_S", 0.0)
    reachable = False
    monkeypatch.setattr(producer_module, "are_brokers_reachable", lambda _: reachable)
    producer = KafkaProducer("127.0.0.1:1", client_id="stalled")
    await producer.start()
    first = producer._producer
    sending = asyncio.create_task(producer.send([Message("t", b"k", b"v")], limit_s=None))
    await asyncio.wait({sending}, timeout=1)
    assert not sending.done(), "while the brokers are away the message waits"
    reachable = True
    async with asyncio.timeout(60):
        with pytest.raises(Unavailable, match="refused messages"):
            await sending
    assert producer._producer is not first
    await producer.close()


async def test_a_send_before_the_start_or_after_the_end_is_told(kafka: EmbeddedKafka) -> None:
    producer = KafkaProducer(kafka.bootstrap, client_id="t")
    with pytest.raises(Unavailable, match="not running"):
        await producer.send([Message("t", b"k", b"v")])
    await producer.start()
    await producer.close()
    await producer.close()
    with pytest.raises(Unavailable, match="not running"):
        await producer.send([Message("t", b"k", b"v")])


async def test_more_than_the_buffer_holds_waits_for_room(scene: TopicScene) -> None:
    await scene.producer.send(
        [Message(scene.topic, b"k", bytes(900_000)) for _ in range(100)]
    )  # 90 MB, the buffer has 64
    assert len(await scene.read()) == 100


@pytest.mark.slow
async def test_death_of_the_broker_in_the_middle_loses_and_reorders_nothing(scene: TopicScene) -> None:
    await scene.producer.send([Message(scene.topic, b"k", b"0")])
    sends = [
        asyncio.create_task(scene.producer.send([Message(scene.topic, b"k", str(n).encode())], limit_s=300))
        for n in range(1, 2000)
    ]
    await asyncio.sleep(0)
    await scene.restart_broker()
    await asyncio.gather(*sends)
    found = [int(value_of(message)) for message in await scene.read()]
    assert found == list(range(2000))


def _murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key, as documented."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    value = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * multiplier & mask
        part = (part ^ part >> 24) * multiplier & mask
        value = (value * multiplier & mask) ^ part
    rest = data[whole:]
    if rest:
        value = (value ^ int.from_bytes(rest, "little")) * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    return (value ^ value >> 15) & 0x7FFFFFFF

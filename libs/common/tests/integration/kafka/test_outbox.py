"""Outbox and Relay against real PostgreSQL and Kafka: nothing lost, order per key, one relay at a time."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence

import psycopg
import pytest

from classifeed_common.db import Tx, load_queries
from classifeed_common.errors import InvalidArgument
from classifeed_common.kafka import Message
from classifeed_common.outbox import relay as relay_module
from classifeed_devkit.testing.recovery import until

from .conftest import OutboxScene
from .topic_scene import Running, headers_of, value_of

pytestmark = pytest.mark.kafka


@pytest.fixture
def scene(outbox_scene: OutboxScene) -> OutboxScene:
    return outbox_scene


async def change(tx: Tx, name: str = "x") -> str:
    """Change a thing, whose row stays locked, and return its version."""
    cursor = await tx.execute("UPDATE things SET version = version + 1 WHERE name = %s RETURNING version", (name,))
    [(version,)] = await cursor.fetchall()
    return str(version)


@pytest.mark.partitions(2)
async def test_messages_arrive_as_they_were_put_and_go_from_the_table(scene: OutboxScene) -> None:
    headers = {"type": b"a.b.C", "any": bytes(range(256)), "empty": b""}
    put = [Message(scene.topic, None, b"", {}, 0), Message(scene.topic, b"\x00\xff", b"\x00body", headers, 0)]
    async with scene.database.transaction() as tx:
        await scene.outbox.put(tx, put)
        await scene.outbox.put(tx, [])
    subject = scene.relay()
    assert await subject.backlog() == 2
    async with Running(subject):
        await scene.emptied()
    first, second = await scene.read()
    assert (first.key(), first.value(), first.headers()) == (None, b"", None)
    assert (second.key(), second.value(), headers_of(second)) == (b"\x00\xff", b"\x00body", headers)


async def test_what_is_rolled_back_is_never_sent(scene: OutboxScene) -> None:
    async def put_and_roll_back() -> None:
        async with scene.database.transaction() as tx:
            await scene.put_in(tx, "never")
            raise psycopg.Rollback

    await put_and_roll_back()
    await scene.put("real")
    async with scene.relaying():
        await scene.arrived(1)
    assert await scene.read_values() == ["real"]


async def test_order_within_and_between_puts(scene: OutboxScene) -> None:
    async with scene.relaying(max_messages=70):
        for batch in range(10):
            await scene.put(*(f"{batch}-{n:03d}" for n in range(100)))
            scene.outbox.wake()
        await scene.emptied()
    assert await scene.read_values() == [f"{batch}-{n:03d}" for batch in range(10) for n in range(100)]


class Watermark:
    """Relay the naive way: remember the last sent id, and read above it."""

    def __init__(self, scene: OutboxScene) -> None:
        self._scene = scene

    async def run(self, stop: asyncio.Event) -> None:
        last = 0
        while not stop.is_set():
            rows = await self._scene.fetch("SELECT id, topic, key, value FROM outbox WHERE id > %s ORDER BY id", last)
            if rows:
                await self._scene.producer.send([Message(topic, key, value) for _, topic, key, value in rows])
                last = rows[-1][0]
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(("way", "lost"), [("real", []), ("watermark", ["early id, late commit"])])
async def test_a_late_committer_with_an_early_id(scene: OutboxScene, way: str, lost: list[str]) -> None:
    async def last_arrived() -> bool:
        return "after both" in await scene.read_values()

    async with Running(scene.relay() if way == "real" else Watermark(scene)):
        async with scene.database.transaction() as late:
            await scene.put_in(late, "early id, late commit", key="a")
            async with scene.database.transaction() as early:
                await scene.put_in(early, "late id, early commit", key="b")
            await scene.arrived(1)
        async with scene.database.transaction() as tx:
            await scene.put_in(tx, "after both", key="c")
        await until(last_arrived)
    put = {"early id, late commit", "late id, early commit", "after both"}
    assert set(lost) == put - set(await scene.read_values())


async def test_a_commit_between_sending_and_removal_is_not_removed_unsent(scene: OutboxScene) -> None:
    drawn, sent, committed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def commit_late() -> None:
        async with scene.database.transaction() as late:
            await scene.put_in(late, "early id, late commit", key="a")
            drawn.set()
            await sent.wait()
        committed.set()

    async def send(messages: Sequence[Message], *, limit_s: float | None) -> None:
        await scene.producer.send(messages, limit_s=limit_s)
        sent.set()
        await committed.wait()

    writer = asyncio.create_task(commit_late())
    await drawn.wait()
    async with scene.database.transaction() as tx:
        await scene.put_in(tx, "late id", key="b")
    await scene.relay_all(send=send)
    await writer
    assert await scene.read_values() == ["late id", "early id, late commit"]


@pytest.mark.parametrize(("draws", "keeps_order"), [("after the row lock", True), ("before the row lock", False)])
async def test_order_of_a_key_is_the_order_of_its_commits(scene: OutboxScene, draws: str, keeps_order: bool) -> None:
    """Two transactions change the same thing; the ids must be drawn under its lock, or the older change overtakes."""
    await scene.execute("INSERT INTO things VALUES ('x', 0)")
    async with scene.database.transaction() as slow:
        if not keeps_order:
            await scene.put_in(slow, "?", key="x")  # draws the smaller id, commits second
        async with scene.database.transaction() as quick:
            await scene.put_in(quick, await change(quick), key="x")
        version = await change(slow)
        if keeps_order:
            await scene.put_in(slow, version, key="x")
        else:
            await slow.execute("UPDATE outbox SET value = %s WHERE value = '?'", (version.encode(),))
    async with scene.relaying():
        await scene.arrived(2)
    assert (await scene.read_values() == ["1", "2"]) == keeps_order


async def test_order_per_key_under_many_writers(scene: OutboxScene) -> None:
    await scene.execute("INSERT INTO things SELECT n::text, 0 FROM generate_series(0, 4) n")

    async def write(writer: int) -> None:
        for step in range(40):
            name = str((writer + step) % 5)
            async with scene.database.transaction() as tx:
                await scene.put_in(tx, await change(tx, name), key=name)
            scene.outbox.wake()

    async with scene.relaying():
        await asyncio.gather(*(write(writer) for writer in range(3)))
        await scene.emptied()
    versions: dict[bytes | None, list[int]] = {}
    for message in await scene.read():
        versions.setdefault(message.key(), []).append(int(value_of(message)))
    assert {key: found == list(range(1, len(found) + 1)) for key, found in versions.items()} == dict.fromkeys(
        (b"0", b"1", b"2", b"3", b"4"), True
    )
    assert sum(map(len, versions.values())) == 120


async def test_death_between_acknowledgement_and_removal_sends_again(scene: OutboxScene) -> None:
    await scene.put("0", "1", "2", "3", "4")
    died = False

    async def send(messages: Sequence[Message], *, limit_s: float | None) -> None:
        nonlocal died
        await scene.producer.send(messages, limit_s=limit_s)
        if not died:
            died = True
            raise ConnectionError("died after the acknowledgement")

    await scene.relay_all(send=send)
    assert await scene.read_values() == ["0", "1", "2", "3", "4"] * 2


async def test_one_relay_at_a_time_and_the_next_one_takes_over(scene: OutboxScene) -> None:
    senders: list[str] = []

    def relaying(name: str, ttl_s: float) -> Running:
        async def send(messages: Sequence[Message], *, limit_s: float | None) -> None:
            senders.append(name)
            await scene.producer.send(messages, limit_s=limit_s)

        return scene.relaying(name, ttl_s, send=send)

    async with relaying("first", 60):
        await scene.put("1")
        await scene.arrived(1)
        second = relaying("second", 3)  # retries often
        await second.__aenter__()
        for n in range(2, 6):
            await scene.put(str(n))
        await scene.arrived(5)
        assert set(senders) == {"first"}
    await scene.put("6")
    await scene.arrived(6)
    await second.__aexit__(None, None, None)
    assert senders[-1] == "second"
    assert await scene.read_values() == ["1", "2", "3", "4", "5", "6"]


async def test_relay_that_lost_its_lease_stops_sending(scene: OutboxScene) -> None:
    """Another holder takes its lease unnoticed, as after a pause; the guard keeps it from reading on."""
    sent: list[bytes] = []

    async def send(messages: Sequence[Message], *, limit_s: float | None) -> None:
        sent.extend(message.value for message in messages)
        await scene.producer.send(messages, limit_s=limit_s)

    async def is_kept() -> bool:
        return await scene.waiting() == 1

    async with scene.relaying("first", send=send):
        await scene.put("1")
        await scene.arrived(1)
        async with scene.database.transaction() as tx:
            await tx.execute(
                "UPDATE leases SET holder = 'thief', fence = fence + 1, expires_at = clock_timestamp() + interval '1 h'"
                " WHERE name = 'outbox:0'"
            )
            await scene.put_in(tx, "2")
        await until(is_kept)
        scene.outbox.wake()
        until_s = time.monotonic() + 1.0
        while time.monotonic() < until_s:
            assert b"2" not in sent  # the first one may be sent again, as its response was late
            await asyncio.sleep(0.05)
    assert set(await scene.read_values()) == {"1"}


async def test_wake_spares_the_wait_for_the_next_look(scene: OutboxScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_module, "_FIRST_PAUSE_S", 100.0)  # no poll within the test
    async with scene.relaying(max_idle_s=100):
        for n in range(3):
            await scene.put(str(n))
            scene.outbox.wake()
            await scene.arrived(n + 1)


async def test_messages_gather_after_a_few_were_sent(scene: OutboxScene) -> None:
    sends: list[tuple[float, float]] = []

    async def send(messages: Sequence[Message], *, limit_s: float | None = 30.0) -> None:
        began_s = time.monotonic()
        await asyncio.sleep(0.1)
        await scene.producer.send(messages, limit_s=limit_s)
        sends.append((began_s, time.monotonic()))

    async with scene.relaying(send=send):
        for number in range(30):
            await scene.put(str(number))
            scene.outbox.wake()
            await asyncio.sleep(0.01)
        await scene.arrived(30)
    assert min(began_s - ended_s for (_, ended_s), (began_s, _) in itertools.pairwise(sends)) >= relay_module._GATHER_S


async def test_a_look_at_an_empty_outbox_takes_no_lock_and_sees_what_comes(scene: OutboxScene) -> None:
    async def scans(table: str) -> int:
        """Return how often the table was read; each connection reports its statistics within a second."""
        counted = "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = %s"
        rows = await scene.fetch(counted, table)
        return int(rows[0][0]) if rows else 0

    async def is_seen_often() -> bool:
        return await scans("outbox") > 50

    async with scene.relaying(outbox=None, max_idle_s=0.01):
        await until(is_seen_often)
        assert await scans("leases") < 10, "the lease is checked before something is sent, and renewed"
        await scene.put("late")
        await scene.arrived(1)


async def test_shards_are_apart(scene: OutboxScene) -> None:
    await scene.put("zero", shard=0)
    await scene.put("one", shard=1)
    other = scene.relay(shard=1)
    async with Running(other):
        await scene.arrived(1)
    assert await scene.read_values() == ["one"]
    assert (await other.backlog(), await scene.relay(shard=0).backlog()) == (0, 1)


async def test_too_large_a_message_is_refused_where_it_is_made(scene: OutboxScene) -> None:
    async with scene.database.transaction() as tx:
        with pytest.raises(InvalidArgument, match="split it"):
            await scene.outbox.put(tx, [Message("t", b"k", b"ok"), Message("t", b"k", bytes(1_000_001))])
    assert await scene.waiting() == 0


@pytest.mark.slow
async def test_kafka_away_and_back(scene: OutboxScene) -> None:
    async with scene.relaying():
        scene.kafka.kill()
        await scene.put(*(str(n) for n in range(50)))
        scene.outbox.wake()
        await scene.start_broker()
        await scene.emptied(300)
    # Messages that the broker may have stored before it stopped are sent again, in order.
    assert list(dict.fromkeys(await scene.read_values())) == [str(n) for n in range(50)]


async def test_hot_query_reads_the_front_of_the_key(scene: OutboxScene) -> None:
    await scene.execute(
        "INSERT INTO outbox (shard, topic, value, headers)"
        " SELECT n % 2, 't', 'v', '{}' FROM generate_series(1, 20000) n"
    )
    async with scene.database.connection() as connection:
        await connection.execute("ANALYZE outbox")
        query = load_queries("classifeed_common.outbox")["read_front"]
        cursor = await connection.execute("EXPLAIN " + query, {"shard": 0, "after": 0, "limit": 1000})
        plan = "\n".join(line for (line,) in await cursor.fetchall())
    assert "outbox_pkey" in plan
    assert "Sort" not in plan
    assert "Seq Scan" not in plan

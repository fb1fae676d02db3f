from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_common.clock import FakeClock
from classifeed_common.errors import FailedPrecondition, Unavailable
from classifeed_common.lease import Lease
from classifeed_devkit.testing.recovery import until
from classifeed_domain.document_shards import SHARDS
from classifeed_indexer.domain.shards import ShardQueue
from classifeed_indexer.store.offsets import Move

from ..conftest import Index, Indexer, make_document, make_schema
from .conftest import ALL, Scene, shard_of_pk

MAIN = 1


def apply(sent: Iterable[tuple[int, IndexDocument]]) -> tuple[dict[str, IndexDocument], int]:
    """Return the content of an index after these messages, and the number of messages that it dropped."""
    index = Index(document for _, document in sent)
    return index.documents, index.dropped


class Killed(Exception):
    """Simulates the end of the process."""


@pytest.mark.kafka
async def test_newest_version_of_each_document_is_delivered(scene: Scene, producer: Any, read_topic: Any) -> None:
    indexer = scene.indexer(producer=producer)
    leases = {int(lease.name[-2:]): lease for lease in await indexer.take(*ALL)}
    await scene.push_many(range(200))
    await scene.push_many(range(0, 200, 3), 2)
    assert await indexer.deliver_all() == 200
    sent = await asyncio.to_thread(read_topic)
    assert {delivered.pk: delivered.version for _, delivered in sent} == {
        f"k{number}": 1 if number % 3 else 2 for number in range(200)
    }
    for partition, delivered in sent:
        assert partition == delivered.shard == shard_of_pk(delivered.pk)
        assert delivered.fence == leases[partition].fence
        assert delivered.queue == MAIN
    assert len(sent) == 200
    assert await indexer.stored_offsets() == await scene.ends()


async def test_a_document_takes_its_trace_along_to_the_topic(scene: Scene) -> None:
    trace_id = b"0af7651916cd43dd8448eb211c80319c"
    indexer = await scene.holder()
    traces = {1: f"00-{trace_id.decode()}-b7ad6b7169203331-01"}
    await scene.registry.push(*[make_document(pk) for pk in "abc"], traces=traces)
    await indexer.deliver_all()
    carried = {pk: headers.get("traceparent", b"")[3:35] for pk, headers in indexer.producer.headers.items()}
    assert carried == {"a": b"", "b": trace_id, "c": b""}


@pytest.mark.kafka
async def test_killed_between_delivery_and_offset(
    scene: Scene, producer: Any, read_topic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next holder delivers the same again, with the same idx; nothing is lost."""
    await scene.push_many(range(50))
    dying = scene.indexer("dying", producer)
    leases = await dying.take(*ALL)

    async def die(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(dying.offsets, "move", die)
    with pytest.raises(Killed):
        await dying.deliverer.deliver_once()
    assert await dying.stored_offsets() == {}
    for lease in leases:
        await dying.leases.release(lease)
    heir = await scene.holder("heir", producer)
    assert await heir.deliver_all() == 50
    sent = await asyncio.to_thread(read_topic)
    delivered_at: dict[str, set[int]] = defaultdict(set)
    for _, delivered in sent:
        delivered_at[delivered.pk].add(delivered.idx)
    assert len(sent) == 100
    assert {len(idxs) for idxs in delivered_at.values()} == {1}
    index, dropped = apply(sent)
    assert (len(index), dropped) == (50, 50)


@pytest.mark.kafka
async def test_zombie_neither_moves_offsets_nor_reaches_the_index(scene: Scene, producer: Any, read_topic: Any) -> None:
    """One process is paused between reading and sending, past its lease; another takes over; the first continues."""
    await scene.push_many(range(50))
    paused, resume = asyncio.Event(), asyncio.Event()

    class Pausing:
        async def send(self, messages: Any) -> None:
            paused.set()
            await resume.wait()
            await producer.send(messages)

    zombie = await scene.holder("zombie", Pausing())
    round_ = asyncio.create_task(zombie.deliverer.deliver_once())
    await paused.wait()
    await scene.expire_leases()
    heir = await scene.holder("heir", producer)
    await scene.push_many(range(25), 2)
    await heir.deliver_all()
    before = await heir.stored_offsets()
    resume.set()
    await round_  # sends outdated versions, with its own fence
    assert await heir.stored_offsets() == before
    assert await zombie.deliverer.deliver_once() == 0  # and pauses them until its keeper has checked
    await scene.push_many(range(10), 3)
    await heir.deliver_all()
    sent = await asyncio.to_thread(read_topic)
    assert len(sent) > 100  # the zombie's messages did arrive
    index, _ = apply(sent)
    expected = {f"k{n}": 3 if n < 10 else 2 if n < 25 else 1 for n in range(50)}
    assert {pk: delivered.version for pk, delivered in index.items()} == expected
    # Without the fence the zombie's late messages would have been refused by their idx alone, unless they were ahead.
    assert await heir.stored_offsets() == await scene.ends()


async def test_offsets_never_skip_or_run_back_while_shards_change_hands(scene: Scene) -> None:
    """Three processes take shards from each other at random moments; each offset is watched by a trigger."""
    async with scene.database.connection() as connection:
        await connection.execute(
            """
            CREATE FUNCTION refuse_steps_back() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.idx < OLD.idx THEN RAISE 'offset ran back from % to %', OLD.idx, NEW.idx; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER forward_only BEFORE UPDATE ON offsets
               FOR EACH ROW EXECUTE FUNCTION refuse_steps_back()
            """
        )
    sent: list[tuple[int, IndexDocument]] = []
    rng = random.Random(5)
    rounds = newest = 0

    async def let_others_send(until: int) -> None:
        # With a time limit: one process may hold every shard and have sent everything in one round.
        for _ in range(200):
            if rounds >= until or done.is_set():
                return
            await asyncio.sleep(0.001)

    class Slow:
        """Sometimes all leases expire while it sends; sometimes the others get time to take over."""

        async def send(self, messages: Any) -> None:
            nonlocal rounds
            rounds += 1
            if not done.is_set() and rng.random() < 0.4:
                await scene.expire_leases()
                await let_others_send(rounds + rng.randrange(3))
            documents = [IndexDocument.FromString(message.value) for message in messages]
            sent.extend((delivered.shard, delivered) for delivered in documents)

    indexers = [scene.indexer(f"p{number}", Slow()) for number in range(3)]
    done = asyncio.Event()

    async def write() -> None:
        nonlocal newest
        # At least thirty versions, and more until a message came late or twice.
        while newest < 30 or not apply(sent)[1]:
            newest += 1
            before = rounds
            await scene.push_many(range(30), newest)
            await let_others_send(before + 2)
        done.set()

    async def work(indexer: Indexer) -> None:
        names = [f"search/{indexer.client}/{shard:02d}" for shard in ALL]
        while not done.is_set():
            for lease in await indexer.leases.acquire_some(names, 30):
                await indexer.deliverer.gain(lease)
            await indexer.deliverer.deliver_once()

    await asyncio.gather(write(), *[work(indexer) for indexer in indexers])
    await scene.expire_leases()
    last = await scene.holder("last", Slow())
    await last.deliver_all()
    assert await last.stored_offsets() == await scene.ends()
    index, dropped = apply(sent)
    assert {pk: delivered.version for pk, delivered in index.items()} == {f"k{n}": newest for n in range(30)}
    assert dropped > 0


async def test_messages_carry_the_fence_of_their_lease(scene: Scene) -> None:
    shard = shard_of_pk("a")
    first, second = scene.indexer("first"), scene.indexer("second")
    [lease] = await first.take(shard)
    await first.leases.release(lease)
    [newer] = await second.take(shard)
    await scene.push(make_document("a"))
    await second.deliver_all()
    assert [delivered.fence for delivered in second.producer.sent] == [newer.fence]
    assert newer.fence > lease.fence


async def test_poison_is_set_aside_and_its_shard_moves_on(scene: Scene) -> None:
    indexer = await scene.holder()
    await scene.push_many(range(40))
    poison = make_document("k7")
    poison.fields[0].values[0].int_value = 3
    await scene.fetch(
        "UPDATE documents SET document = %s, compression = 0, checksum = NULL WHERE pk = 'k7' RETURNING 1",
        poison.SerializeToString(),
    )
    orphan = make_document("k8", epoch=9)
    await scene.fetch(
        "UPDATE documents SET document = %s, compression = 0, checksum = NULL, epoch = 9 WHERE pk = 'k8' RETURNING 1",
        orphan.SerializeToString(),
    )
    await scene.fetch("UPDATE elements SET epoch = 9 WHERE pk = 'k8' RETURNING 1")
    await indexer.deliver_all()
    assert {d.pk for d in indexer.producer.sent} == {f"k{number}" for number in range(40)} - {"k7", "k8"}
    assert await scene.fetch("SELECT pk, reason FROM failures ORDER BY pk") == [
        ("k7", "field title is TEXT and takes string_value, not int_value"),
        ("k8", "epoch 9 has no schema"),
    ]
    assert await scene.fetch("SELECT count(*) FROM elements WHERE queue = 3") == [(2,)]
    assert await indexer.stored_offsets() == dict(
        await scene.fetch("SELECT shard, last_idx FROM shards WHERE queue = 1")
    )


async def test_field_added_to_the_schema_meanwhile_is_known(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_indexer.app.convert_elements._MIN_AGE_S", -1)
    indexer = await scene.holder()
    await scene.push(make_document("old"))
    await indexer.deliver_all()
    wider = make_schema(scene.client)
    wider.fields.add(name="colour", type="FIELD_TYPE_STRING")
    await scene.registry.put(wider)
    newer = make_document("new")
    newer.fields.add(name="colour").values.add(string_value="red")
    await scene.push(newer)
    await indexer.deliver_all()
    assert [field.name for field in indexer.producer.sent[-1].fields] == ["title", "colour"]


async def test_offset_stays_when_delivery_is_not_acknowledged(scene: Scene) -> None:
    indexer = await scene.holder()
    await scene.push(make_document("a"))

    async def refuse() -> None:
        raise Unavailable("KAFKA_UNAVAILABLE", "no broker")

    indexer.producer.on_send = refuse
    with pytest.raises(Unavailable):
        await indexer.deliverer.deliver_once()
    assert await indexer.stored_offsets() == {}
    indexer.producer.on_send = None
    await indexer.deliver_all()
    [(shard, end)] = await scene.fetch("SELECT shard, last_idx FROM shards")
    assert [delivered.idx for delivered in indexer.producer.sent] == [end, end]
    assert await indexer.stored_offsets() == {shard: end}


@pytest.mark.parametrize("is_silent", [False, True], ids=("refuses", "is silent"))
async def test_what_holds_up_delivery_is_named_until_it_goes_on(scene: Scene, is_silent: bool) -> None:
    clock, well, attempts = FakeClock(), asyncio.Event(), 0
    indexer = await scene.holder(clock=clock)
    await scene.push(make_document("a"))

    async def hold_up() -> None:
        nonlocal attempts
        attempts += 1
        if is_silent:
            await well.wait()
        elif not well.is_set():
            raise Unavailable("KAFKA_UNAVAILABLE", "no broker")

    indexer.producer.on_send = hold_up
    stop = asyncio.Event()
    running = asyncio.create_task(indexer.deliverer.run(stop))
    await until(lambda: attempts > (0 if is_silent else 1))
    assert indexer.deliverer.blocked() == {}
    await clock.advance(5)
    [(what, fault)] = indexer.deliverer.blocked().items()
    assert what == f"{indexer.client} documents"
    begins = "waited 5 s for Kafka to acknowledge 1 documents." if is_silent else "failed for 5 s, "
    assert fault.startswith(f"delivery has {begins}")
    assert is_silent or "KAFKA_UNAVAILABLE: no broker. The search stays as it was; it continues once" in fault
    well.set()
    await until(lambda: indexer.deliverer.blocked() == {})
    await until(indexer.is_delivered)
    stop.set()
    await running


async def test_lease_that_was_renewed_late_goes_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expired for a moment, not taken over, and renewed: its keeper never calls `gain` again, and must not need to."""
    monkeypatch.setattr("classifeed_indexer.app.deliver_elements._LEASE_PAUSE_S", 0)
    indexer = scene.indexer()
    leases = await indexer.take(*ALL)
    await scene.push(make_document("a"))
    await scene.expire_leases()
    await indexer.deliverer.deliver_once()
    assert await indexer.stored_offsets() == {}
    assert len(await indexer.leases.renew(leases)) == SHARDS
    await indexer.deliver_all()
    assert await indexer.stored_offsets() == await scene.ends()


async def test_offset_moved_by_an_operator_is_followed(scene: Scene) -> None:
    indexer = await scene.holder()
    await scene.push(make_document("a"))
    await indexer.deliver_all()
    await scene.execute("UPDATE offsets SET idx = 0")
    await scene.push(make_document("a", 2))
    await indexer.deliver_all()
    assert await indexer.stored_offsets() == await scene.ends()


async def test_shard_that_is_refused_is_left_out_and_named_and_the_others_go_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.push_many(range(40))
    stuck = shard_of_pk("k0")
    indexer = await scene.holder()
    read = indexer.receiver.read

    async def refuse(cursors: Any, **named: Any) -> Any:
        if any(key.shard == stuck for key in cursors):
            raise FailedPrecondition("BROKEN", "ask an operator", metadata={"shard": str(stuck)})
        return await read(cursors, **named)

    monkeypatch.setattr(indexer.receiver, "read", refuse)
    stop = asyncio.Event()
    running = asyncio.create_task(indexer.deliverer.run(stop))
    others = {f"k{number}" for number in range(40) if shard_of_pk(f"k{number}") != stuck}
    async with asyncio.timeout(90):
        while {delivered.pk for delivered in indexer.producer.sent} != others:
            await asyncio.sleep(0.01)
    assert indexer.deliverer.blocked() == {f"{indexer.client} shard {stuck}": "ask an operator"}
    stop.set()
    await running
    assert stuck not in await indexer.stored_offsets()


async def test_progress_is_reported_for_what_is_held(scene: Scene) -> None:
    indexer = scene.indexer()
    shard = shard_of_pk("a")
    await indexer.take(shard)
    await indexer.deliverer.deliver_once()
    progress = 'SELECT "group", queue, shard, idx FROM progress ORDER BY queue'
    assert await scene.fetch(progress) == [("search", 1, shard, 0), ("search", 2, shard, 0)]
    await scene.push(make_document("a"))
    [(end,)] = await scene.fetch("SELECT last_idx FROM shards")
    async with asyncio.timeout(90):
        while await scene.fetch(progress) != [("search", 1, shard, end), ("search", 2, shard, 0)]:
            await indexer.deliverer.deliver_once()
            await asyncio.sleep(0.01)


async def test_lease_that_goes_during_a_wait_ends_the_wait(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    indexer = scene.indexer()
    read, waits, is_cut_off = indexer.receiver.read, asyncio.Event(), asyncio.Event()

    async def noted_read(*given: Any, **named: Any) -> Any:
        waits.set()
        try:
            return await read(*given, **named)
        except asyncio.CancelledError:
            is_cut_off.set()
            raise

    monkeypatch.setattr(indexer.receiver, "read", noted_read)
    indexer.deliverer._read_wait_s = 10
    lease: Lease = (await indexer.take(3))[0]
    round_ = asyncio.create_task(indexer.deliverer.deliver_once())
    await waits.wait()
    await indexer.deliverer.lose(lease)
    assert await round_ == 0
    assert is_cut_off.is_set(), "it was not waited to its end"


async def test_backlog_is_nothing_exactly_when_everything_is_delivered(scene: Scene) -> None:
    indexer = scene.indexer()

    async def backlog() -> int:
        return (await indexer.backlog())[scene.client]

    assert await backlog() == 0
    await scene.push(make_document("a"), make_document("a", 2))
    assert await backlog() == 1
    await indexer.take(*ALL)
    await indexer.deliver_all()
    assert await backlog() == 0
    await scene.push(make_document("a", 3))
    await scene.push(make_document("a", 4))
    # There are only replaced elements in between, but the cursor must move.
    assert await backlog() == 1


async def test_offsets_of_a_lost_lease_stay(scene: Scene) -> None:
    indexer = scene.indexer()
    held, lost = await indexer.take(1, 2)
    await scene.execute("UPDATE leases SET expires_at = clock_timestamp() WHERE name = %s", lost.name)
    moves = [Move(ShardQueue(MAIN, shard), expected, 5) for shard, expected in ((1, 0), (2, 0))]
    result = await indexer.offsets.move(moves, {1: held, 2: lost})
    assert result.held == {1}
    assert result.moved == {ShardQueue(MAIN, 1)}
    again = await indexer.offsets.move([Move(ShardQueue(MAIN, 1), 0, 9)], {1: held})
    assert again.held == {1}
    assert not again.moved
    assert await indexer.stored_offsets() == {1: 5}

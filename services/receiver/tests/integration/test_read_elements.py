from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE
from classifeed_common.errors import FailedPrecondition
from classifeed_receiver.app.read_elements import ElementReader, ReadResult
from classifeed_receiver.app.report_progress import report_progress
from classifeed_receiver.app.trim_queues import QueueTrimmer
from classifeed_receiver.store.queues import Failure, ShardKey, append_failed

MAIN, FAILED = 1, 3
ALL_SHARDS = {ShardKey(MAIN, shard): 0 for shard in range(64)}


async def read(
    receiver: Any, cursors: dict[ShardKey, int] | None = None, *, limit: int = 100, wait_s: float = 0
) -> Any:
    return await receiver.reader.read("offers", cursors or ALL_SHARDS, limit=limit, wait_s=wait_s)


async def read_to_the_end(receiver: Any, *, limit: int) -> list[tuple[ShardKey, int, str, int]]:
    cursors, found = dict(ALL_SHARDS), []
    while (result := await read(receiver, cursors, limit=limit)).next:
        found += [(e.key, e.idx, e.document.pk, e.document.version) for e in result.elements]
        cursors |= result.next
    return found


async def push_into_shard(receiver: Any, build: Any, count: int) -> ShardKey:
    """Pushes `count` versions of one key, one after another; returns its shard."""
    for version in range(1, count + 1):
        [outcome] = await receiver.push(build.upsert("a", version))
    return ShardKey(MAIN, outcome.place.shard)


async def test_everything_pushed_is_read_once_in_order_of_its_shard(receiver: Any, build: Any):
    await receiver.push(*[build.upsert(f"k{number}") for number in range(300)])
    found = await read_to_the_end(receiver, limit=2)
    assert {pk for _, _, pk, _ in found} == {f"k{number}" for number in range(300)}
    for key in ALL_SHARDS:
        idxs = [idx for other, idx, _, _ in found if other == key]
        assert idxs == list(range(1, len(idxs) + 1))


async def test_element_of_a_replaced_document_is_passed_over(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 5)
    result = await read(receiver, {key: 0})
    assert [(element.idx, element.document.version) for element in result.elements] == [(5, 5)]
    assert result.next == {key: 5}
    # A page of nothing but replaced ones still moves the cursor.
    result = await read(receiver, {key: 0}, limit=3)
    assert (result.elements, result.next) == ([], {key: 3})


async def test_answer_stays_below_its_size_and_loses_nothing(receiver: Any, build: Any):
    """Compressed a hundredfold in the registry, so that the size known to SQL is far too small."""
    await receiver.push(*[build.upsert(f"k{number}", title=f"диван {number} " * 20_000) for number in range(20)])
    cursors, pks = dict(ALL_SHARDS), []
    while (result := await read(receiver, cursors)).next:
        assert sum(element.document.ByteSize() for element in result.elements) < 4_000_000
        pks += [element.document.pk for element in result.elements]
        cursors |= result.next
    assert sorted(pks) == sorted(f"k{number}" for number in range(20))


async def test_busy_shard_does_not_starve_the_others(receiver: Any, build: Any):
    await receiver.push(*[build.upsert(f"k{number}", title=f"{number}".zfill(4) * 60_000) for number in range(60)])
    result = await read(receiver)
    shards = {row[0] for row in await receiver.fetch("SELECT DISTINCT shard FROM elements")}
    moved = {key.shard for key in result.next}
    # Rounds over the shards: nobody gets a second element before everybody had the first.
    assert len(moved) == min(len(shards), len(result.elements))


async def test_waits_for_a_commit_of_this_process(make_receiver: Callable[..., Any], build: Any):
    receiver = make_receiver()
    receiver.reader = ElementReader(receiver.database, receiver.signal, receiver.clock, poll_s=3600)
    await receiver.put(build.schema())
    reading = asyncio.create_task(read(receiver, wait_s=3600))
    await asyncio.sleep(0.05)
    assert not reading.done()
    await receiver.push(build.upsert("a"))
    async with asyncio.timeout(90):  # told, not found at the next look after an hour
        assert len((await reading).elements) == 1
    await receiver.pusher.close()


async def test_waits_for_a_commit_of_another_replica(receiver: Any, make_receiver: Callable[..., Any], build: Any):
    other = make_receiver(queue_poll_s=0.02)
    reading = asyncio.create_task(read(other, wait_s=90))
    await asyncio.sleep(0.05)
    assert not reading.done()
    await receiver.push(build.upsert("a"))
    assert len((await reading).elements) == 1


async def test_wait_ends_without_anything(receiver: Any):
    started = time.monotonic()
    assert await read(receiver, wait_s=0.2) == ReadResult()
    assert time.monotonic() - started >= 0.2


async def test_trimmed_cursor_is_refused_never_moved_on(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 5)
    await report_progress(receiver.database, "search", "offers", [(key, 3)])
    trimmer = QueueTrimmer(receiver.database, interval_s=1, elements=100, group_lifetime_s=60)
    assert await trimmer.trim_once() == 1
    for cursor in (0, 2):  # 0: a brand-new group
        with pytest.raises(FailedPrecondition) as raised:
            await read(receiver, {key: cursor})
        assert raised.value.reason == "CURSOR_TRIMMED"
        assert "Rebuild the index" in raised.value.message
        assert raised.value.metadata["trimmed_idx"] == "3"
    assert [element.idx for element in (await read(receiver, {key: 3})).elements] == [5]
    await report_progress(receiver.database, "search", "offers", [(key, 5)])
    await trimmer.trim_once()
    with pytest.raises(FailedPrecondition, match="CURSOR_TRIMMED"):  # nothing is left whose gap would show it
        await read(receiver, {key: 4})


async def test_trim_between_two_looks_is_noticed(receiver: Any, build: Any):
    """The end of the queue is read before its elements; what is trimmed in between shows as a gap."""
    key = await push_into_shard(receiver, build, 5)
    await receiver.fetch("DELETE FROM elements WHERE idx <= 2 RETURNING 1")  # trimmed_idx still says 0
    with pytest.raises(FailedPrecondition) as raised:
        await read(receiver, {key: 1})
    assert raised.value.reason == "CURSOR_TRIMMED"


async def test_cursor_beyond_the_end_is_refused(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 5)
    with pytest.raises(FailedPrecondition) as raised:
        await read(receiver, {key: 6})
    assert raised.value.reason == "CURSOR_BEYOND_END"
    with pytest.raises(FailedPrecondition):
        await report_progress(receiver.database, "search", "offers", [(key, 6)])


async def test_trims_what_every_living_group_has_passed(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 10)
    trimmer = QueueTrimmer(receiver.database, interval_s=1, elements=4, group_lifetime_s=60)

    async def left() -> list[int]:
        await trimmer.trim_once()
        return [idx for (idx,) in await receiver.fetch("SELECT idx FROM elements ORDER BY idx")]

    assert await left() == list(range(1, 11))  # nobody reads: nothing is trimmed
    await report_progress(receiver.database, "search", "offers", [(key, 8)])
    await report_progress(receiver.database, "archive", "offers", [(ShardKey(MAIN, (key.shard + 1) % 64), 0)])
    assert await left() == list(range(1, 11))  # archive has not spoken of this shard yet
    await report_progress(receiver.database, "archive", "offers", [(key, 6)])
    await report_progress(receiver.database, "archive", "offers", [(key, 2)])  # a late report takes nothing back
    assert await left() == [5, 6, 7, 8, 9, 10]  # four at a time
    assert await left() == [7, 8, 9, 10]
    await receiver.fetch(
        "UPDATE progress SET reported_at = now() - interval '1 hour' WHERE \"group\" = 'archive' RETURNING 1"
    )
    assert await left() == [9, 10]  # archive is dead


async def test_failed_element_gets_one_place_in_the_queue_failed(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 3)
    other = ShardKey(MAIN, (key.shard + 1) % 64)

    async def append(*failures: Failure) -> int:
        async with receiver.database.transaction() as tx:
            return await append_failed(tx, "offers", failures)

    assert await append(Failure(key, 3, "a", "cannot be read"), Failure(key, 2, "a", "neither")) == 2
    assert await append(Failure(key, 3, "a", "again"), Failure(key, 2, "a", "again")) == 0
    assert await append(Failure(key, 3, "b", "another key"), Failure(other, 1, "a", "no element")) == 0
    assert await receiver.fetch("SELECT idx, reason, failed_idx FROM failures ORDER BY idx") == [
        (2, "neither", 1),
        (3, "cannot be read", 2),
    ]
    # Read like any other queue: the first one stands for a version that was replaced.
    failed = ShardKey(FAILED, key.shard)
    result = await read(receiver, {failed: 0})
    assert [(element.idx, element.document.version) for element in result.elements] == [(2, 3)]
    assert result.next == {failed: 2}


async def test_failures_reported_twice_at_a_time_get_one_place(receiver: Any, build: Any):
    key = await push_into_shard(receiver, build, 1)

    async def append() -> int:
        async with receiver.database.transaction() as tx:
            return await append_failed(tx, "offers", [Failure(key, 1, "a", "broken")])

    assert sum(await asyncio.gather(*[append() for _ in range(6)])) == 1
    assert await receiver.fetch("SELECT last_idx FROM shards WHERE queue = 3") == [(1,)]


async def test_corrupt_row_is_set_aside_and_its_shard_moves_on(receiver: Any, build: Any):
    await receiver.push(*[build.upsert(f"k{number}") for number in range(50)])
    await receiver.fetch("UPDATE documents SET document = '\\xff00', compression = 1 WHERE pk = 'k7' RETURNING 1")
    found = await read_to_the_end(receiver, limit=100)
    assert {pk for _, _, pk, _ in found} == {f"k{number}" for number in range(50)} - {"k7"}
    [(pk, reason)] = await receiver.fetch("SELECT pk, reason FROM failures")
    assert pk == "k7"
    assert "corrupt" in reason


async def test_tombstone_is_read_as_a_delete(receiver: Any, build: Any):
    await receiver.push(build.delete("a", 1))
    [element] = (await read(receiver)).elements
    assert element.document == build.delete("a", 1)
    assert element.document.action == DOCUMENT_ACTION_DELETE

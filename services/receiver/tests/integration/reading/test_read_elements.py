from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE
from classifeed_common.errors import FailedPrecondition
from classifeed_devkit.testing.databases import TableBackup
from classifeed_receiver.app.reading.read_elements import ReadElements, ReadResult
from classifeed_receiver.app.reading.report_progress import report_progress
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.store import queues, registry
from classifeed_receiver.store.queues import Failure, append_failed

from ...conftest import Build, Receiver

MAIN, FAILED = 1, 3
ALL_SHARDS = {ShardKey(MAIN, shard): 0 for shard in range(64)}


async def read(
    receiver: Receiver, cursors: dict[ShardKey, int] | None = None, *, limit: int = 100, wait_s: float = 0
) -> Any:
    return await receiver.read_elements("offers", cursors or ALL_SHARDS, limit=limit, wait_s=wait_s)


async def read_to_the_end(receiver: Receiver, *, limit: int) -> list[tuple[ShardKey, int, str, int]]:
    cursors, found = dict(ALL_SHARDS), []
    while (result := await read(receiver, cursors, limit=limit)).next:
        found += [(e.key, e.idx, e.document.pk, e.document.version) for e in result.elements]
        cursors |= result.next
    return found


class Filled(NamedTuple):
    """A shard with elements of one key; `at[n]` is the index of version n, `at[0]` the begin."""

    key: ShardKey
    at: list[int]


async def push_into_shard(receiver: Receiver, build: Build, count: int, *, first: int = 1) -> Filled:
    """Push `count` versions of one key sequentially, so that each is a separate element."""
    at = [0]
    for version in range(first, first + count):
        [outcome] = await receiver.push(build.upsert("a", version))
        at.append(outcome.position.idx)
    return Filled(ShardKey(MAIN, outcome.position.shard), at)


def trimmer_of(receiver: Receiver, *, elements: int = 100) -> QueueTrimmer:
    return QueueTrimmer(receiver.database, elements=elements, group_lifetime_s=60, failed_age_s=60)


async def test_everything_pushed_is_read_once_in_order_of_its_shard(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(f"k{number}") for number in range(300)])
    found = await read_to_the_end(receiver, limit=2)
    assert {pk for _, _, pk, _ in found} == {f"k{number}" for number in range(300)}
    for key in ALL_SHARDS:
        idxs = [idx for other, idx, _, _ in found if other == key]
        assert idxs == sorted(set(idxs))


async def test_element_of_a_replaced_document_is_passed_over(receiver: Receiver, build: Build) -> None:
    key, at = await push_into_shard(receiver, build, 5)
    result = await read(receiver, {key: 0})
    assert [(element.idx, element.document.version) for element in result.elements] == [(at[5], 5)]
    assert result.next == {key: at[5]}
    # A page with only replaced elements still moves the cursor.
    result = await read(receiver, {key: 0}, limit=3)
    assert (result.elements, result.next) == ([], {key: at[3]})


async def test_answer_stays_below_its_size_and_loses_nothing(receiver: Receiver, build: Build) -> None:
    """Documents are compressed a hundredfold in the registry, so the size known to SQL is far too small."""
    await receiver.push(*[build.upsert(f"k{number}", title=f"диван {number} " * 20_000) for number in range(20)])
    cursors, pks = dict(ALL_SHARDS), []
    while (result := await read(receiver, cursors)).next:
        assert sum(element.document.ByteSize() for element in result.elements) < 4_000_000
        pks += [element.document.pk for element in result.elements]
        cursors |= result.next
    assert sorted(pks) == sorted(f"k{number}" for number in range(20))


async def test_busy_shard_does_not_starve_the_others(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(f"k{number}", title=f"{number}".zfill(4) * 60_000) for number in range(60)])
    result = await read(receiver)
    shards = {row[0] for row in await receiver.fetch("SELECT DISTINCT shard FROM elements")}
    moved = {key.shard for key in result.next}
    # Rounds over the shards: no shard gets a second element before all shards have their first.
    assert len(moved) == min(len(shards), len(result.elements))


async def test_waits_for_a_commit_of_this_process(make_receiver: Callable[..., Any], build: Build) -> None:
    receiver = make_receiver()
    receiver.read_elements = ReadElements(receiver.database, receiver.signal, receiver.clock, poll_s=3600)
    await receiver.put(build.schema())
    reading = asyncio.create_task(read(receiver, wait_s=3600))
    await asyncio.sleep(0.05)
    assert not reading.done()
    await receiver.push(build.upsert("a"))
    async with asyncio.timeout(90):  # by the signal, not by the next poll after an hour
        assert len((await reading).elements) == 1
    await receiver.push_documents.stop()


async def test_waits_for_a_commit_of_another_replica(
    receiver: Receiver, make_receiver: Callable[..., Any], build: Build
) -> None:
    other = make_receiver(queue_poll_s=0.02)
    reading = asyncio.create_task(read(other, wait_s=90))
    await asyncio.sleep(0.05)
    assert not reading.done()
    await receiver.push(build.upsert("a"))
    assert len((await reading).elements) == 1


async def test_wait_ends_without_anything(receiver: Receiver) -> None:
    started = time.monotonic()
    assert await read(receiver, wait_s=0.2) == ReadResult()
    assert time.monotonic() - started >= 0.2


async def refusal(receiver: Receiver, key: ShardKey, cursor: int) -> FailedPrecondition:
    with pytest.raises(FailedPrecondition) as raised:
        await read(receiver, {key: cursor})
    return raised.value


async def test_trimmed_cursor_is_refused_never_moved_on(receiver: Receiver, build: Build) -> None:
    key, at = await push_into_shard(receiver, build, 5)
    await report_progress(receiver.database, "search", "offers", {key: at[3]})
    assert await trimmer_of(receiver).trim_once() == 1
    for cursor in (at[0], at[1]):  # 0: a brand-new group
        refused = await refusal(receiver, key, cursor)
        assert refused.reason == "CURSOR_TRIMMED"
        assert "IndexQueueService.Refill" in refused.message
        assert (refused.metadata["trimmed_idx"], refused.metadata["last_idx"]) == (str(at[2]), str(at[5]))
    for cursor in (at[2], at[3]):  # the last trimmed element, and the one at the group's cursor
        assert [element.idx for element in (await read(receiver, {key: cursor})).elements] == [at[5]]
    await report_progress(receiver.database, "search", "offers", {key: at[5]})
    await trimmer_of(receiver).trim_once()
    assert (await refusal(receiver, key, at[3])).reason == "CURSOR_TRIMMED"
    assert (await read(receiver, {key: at[5]})).next == {}


async def test_trim_between_the_ends_and_the_elements_is_noticed(
    receiver: Receiver, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, at = await push_into_shard(receiver, build, 5)
    list_shards = queues.list_shards

    async def trim_after(tx: Any, client: str) -> Any:
        ends = await list_shards(tx, client)
        await report_progress(receiver.database, "search", "offers", {key: at[4]})
        await trimmer_of(receiver).trim_once()
        return ends

    monkeypatch.setattr(queues, "list_shards", trim_after)
    refused = await refusal(receiver, key, at[1])
    assert (refused.reason, refused.metadata["trimmed_idx"]) == ("CURSOR_TRIMMED", str(at[3]))


@pytest.mark.parametrize("pushed_since", [0, 1, 9])
async def test_cursor_of_a_lost_table_is_refused_whatever_was_pushed_since(
    receiver: Receiver, build: Build, table_backup: TableBackup, pushed_since: int
) -> None:
    """The table is restored from a backup that is older than the reader's cursor; then the queue grows past it."""
    key, at = await push_into_shard(receiver, build, 2)
    await table_backup.take()
    _, later = await push_into_shard(receiver, build, 3, first=3)
    assert (await read(receiver, {key: later[2]})).next == {key: later[3]}
    await table_backup.restore()
    if pushed_since:
        await push_into_shard(receiver, build, pushed_since, first=20)
    refused = await refusal(receiver, key, later[2])
    assert refused.reason == "CURSOR_UNKNOWN"
    assert "restored from a backup" in refused.message
    with pytest.raises(FailedPrecondition, match="CURSOR_UNKNOWN"):
        await report_progress(receiver.database, "search", "offers", {key: later[2]})
    [(last_idx,)] = await receiver.fetch("SELECT last_idx FROM shards")
    for cursor in (0, at[1], at[2], last_idx):  # cursors of the current table
        await read(receiver, {key: cursor})
        await report_progress(receiver.database, "search", "offers", {key: cursor})


CLOCK = "greatest(s.last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"


async def push_element(receiver: Receiver, build: Build, number: int) -> None:
    await receiver.push(build.upsert("a", number))


async def expire_element(receiver: Receiver, build: Build, number: int) -> None:
    await receiver.fetch("UPDATE documents SET status = 1, expires_at = now() WHERE pk = 'a' RETURNING 1")
    async with receiver.database.transaction() as tx:
        assert await registry.expire_documents(tx, 10) == 1


async def fail_element(receiver: Receiver, build: Build, number: int) -> None:
    [(shard, idx)] = await receiver.fetch("SELECT shard, idx FROM elements WHERE queue = 1")
    await receiver.fetch("DELETE FROM failures RETURNING 1")
    async with receiver.database.transaction() as tx:
        assert await append_failed(tx, "offers", [Failure(ShardKey(MAIN, shard), idx, "a", "broken")]) == 1


@pytest.mark.parametrize(("module", "name", "add", "queue"), [
    (registry, "write_documents", push_element, MAIN),
    (registry, "expire_documents", expire_element, MAIN),
    (queues, "append_failed", fail_element, FAILED),
])  # fmt: skip
@pytest.mark.parametrize("way", ["floored by the clock", "the next number"])
async def test_no_index_is_given_twice_across_a_restore(
    receiver: Receiver, build: Build, table_backup: TableBackup, monkeypatch: pytest.MonkeyPatch, way: str,
    module: Any, name: str, add: Any, queue: int,
) -> None:  # fmt: skip
    """A sink has seen the elements since the backup, and drops elements that are not above them."""
    if way == "the next number":
        assert CLOCK in module._SQL[name]
        naive = module._SQL[name].replace(CLOCK, "s.last_idx")
        monkeypatch.setattr(module, "_SQL", {**module._SQL, name: naive})

    async def newest() -> int:
        [(idx,)] = await receiver.fetch("SELECT max(idx) FROM elements WHERE queue = %s", queue)
        return int(idx)

    await push_element(receiver, build, 1)
    await add(receiver, build, 2)
    await table_backup.take()
    for number in range(3, 6):
        await add(receiver, build, number)
    seen = await newest()
    await table_backup.restore()
    await add(receiver, build, 10)
    assert (await newest() > seen) == (way == "floored by the clock")


async def test_indexes_grow_when_the_clock_has_stepped_back(receiver: Receiver, build: Build) -> None:
    future = 4_000_000_000_000_000
    await push_into_shard(receiver, build, 1)
    await receiver.fetch("UPDATE shards SET last_idx = %s RETURNING 1", future)
    _, at = await push_into_shard(receiver, build, 2, first=2)
    assert future < at[1] < at[2]


async def test_trims_what_every_living_group_has_passed(receiver: Receiver, build: Build) -> None:
    key, at = await push_into_shard(receiver, build, 10)
    trimmer = trimmer_of(receiver, elements=4)

    async def left() -> list[int]:
        await trimmer.trim_once()
        return [at.index(idx) for (idx,) in await receiver.fetch("SELECT idx FROM elements ORDER BY idx")]

    assert await left() == list(range(1, 11))  # there is no reader: nothing is trimmed
    await report_progress(receiver.database, "search", "offers", {key: at[8]})
    await report_progress(receiver.database, "archive", "offers", {ShardKey(MAIN, (key.shard + 1) % 64): 0})
    assert await left() == list(range(1, 11))  # archive has not reported about this shard yet
    await report_progress(receiver.database, "archive", "offers", {key: at[6]})
    await report_progress(receiver.database, "archive", "offers", {key: at[2]})  # a late report takes nothing back
    assert await left() == [5, 6, 7, 8, 9, 10]  # four at a time
    assert await left() == [6, 7, 8, 9, 10]  # the one at the cursor of archive is kept
    assert await left() == [6, 7, 8, 9, 10]
    await receiver.fetch(
        "UPDATE progress SET reported_at = now() - interval '1 hour' WHERE \"group\" = 'archive' RETURNING 1"
    )
    assert await left() == [8, 9, 10]  # archive is dead
    assert await trimmer.trim_once() == 0, "what is kept is no work for the next round"


async def test_cursor_of_a_queue_that_was_trimmed_through_its_cursor_is_known(receiver: Receiver, build: Build) -> None:
    """Earlier releases also trimmed the element at the group's cursor."""
    key, at = await push_into_shard(receiver, build, 4)
    await receiver.fetch("DELETE FROM elements WHERE idx <= %s RETURNING 1", at[3])
    await receiver.fetch("UPDATE shards SET trimmed_idx = %s RETURNING 1", at[3])
    assert [element.idx for element in (await read(receiver, {key: at[3]})).elements] == [at[4]]
    await report_progress(receiver.database, "search", "offers", {key: at[3]})


async def test_failed_element_gets_one_place_in_the_queue_failed(receiver: Receiver, build: Build) -> None:
    key, at = await push_into_shard(receiver, build, 3)
    other = ShardKey(MAIN, (key.shard + 1) % 64)

    async def append(*failures: Failure) -> int:
        async with receiver.database.transaction() as tx:
            return await append_failed(tx, "offers", failures)

    assert await append(Failure(key, at[3], "a", "cannot be read"), Failure(key, at[2], "a", "neither")) == 2
    assert await append(Failure(key, at[3], "a", "again"), Failure(key, at[2], "a", "again")) == 0
    assert await append(Failure(key, at[3], "b", "another key"), Failure(other, at[1], "a", "no element")) == 0
    (first, one, first_idx), (second, two, second_idx) = await receiver.fetch(
        "SELECT idx, reason, failed_idx FROM failures ORDER BY idx"
    )
    assert [(first, one), (second, two)] == [(at[2], "neither"), (at[3], "cannot be read")]
    assert first_idx < second_idx
    # Read like any other queue: the version of the first element was replaced.
    failed = ShardKey(FAILED, key.shard)
    result = await read(receiver, {failed: 0})
    assert [(element.idx, element.document.version) for element in result.elements] == [(second_idx, 3)]
    assert result.next == {failed: second_idx}
    # Old elements are removed, except the newest one of a stored version: digests leave this document out.
    trimmer = QueueTrimmer(receiver.database, elements=1, group_lifetime_s=60, failed_age_s=3600)
    assert await trimmer.forget_failed() == 0
    for change in ("elements SET idx = idx - %s WHERE queue = 3", "failures SET failed_idx = failed_idx - %s"):
        await receiver.fetch(f"UPDATE {change} RETURNING 1", 3700 * 1_000_000)
    again = (
        "INSERT INTO elements SELECT (jsonb_populate_record(e, %s::jsonb)).* FROM elements e WHERE idx = %s RETURNING 1"
    )
    before = second_idx - 3700 * 1_000_000  # the same version failed before: a refill had put it into the queues again
    await receiver.fetch(again, f'{{"idx": {before - 9}}}', before)
    assert await trimmer.forget_failed() == 2
    assert await receiver.fetch("SELECT idx FROM failures") == [(at[3],)]
    [kept] = (await read(receiver, {failed: 0})).elements
    assert kept.document.version == 3
    await receiver.push(build.upsert("a", 9))
    assert await trimmer.forget_failed() == 1
    assert await receiver.fetch("SELECT 1 FROM elements WHERE queue = 3 UNION ALL SELECT 1 FROM failures") == []


async def test_failures_reported_twice_at_a_time_get_one_place(receiver: Receiver, build: Build) -> None:
    key, at = await push_into_shard(receiver, build, 1)

    async def append() -> int:
        async with receiver.database.transaction() as tx:
            return await append_failed(tx, "offers", [Failure(key, at[1], "a", "broken")])

    assert sum(await asyncio.gather(*[append() for _ in range(6)])) == 1
    assert await receiver.fetch("SELECT count(*) FROM elements WHERE queue = 3") == [(1,)]


async def test_corrupt_row_is_set_aside_and_its_shard_moves_on(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(f"k{number}") for number in range(50)])
    await receiver.fetch("UPDATE documents SET document = '\\xff00', compression = 1 WHERE pk = 'k7' RETURNING 1")
    found = await read_to_the_end(receiver, limit=100)
    assert {pk for _, _, pk, _ in found} == {f"k{number}" for number in range(50)} - {"k7"}
    [(pk, reason)] = await receiver.fetch("SELECT pk, reason FROM failures")
    assert pk == "k7"
    assert "corrupt" in reason


async def test_tombstone_is_read_as_a_delete(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.delete("a", 1))
    [element] = (await read(receiver)).elements
    assert element.document == build.delete("a", 1)
    assert element.document.action == DOCUMENT_ACTION_DELETE

"""Marks of tables: what they detect, what is repaired at once, and the messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed.pictures.v1.requests_pb2 import PictureNotices
from classifeed_common.db import Database, Tx
from classifeed_devkit.testing.databases import TableBackup
from classifeed_jobs import JobStore
from classifeed_pictures.app.restores.check_states import CheckStates, RepeatOrders, refetch_unstored
from classifeed_pictures.app.restores.find_restored import FindRestored
from classifeed_pictures.domain.marked_tables import JOBS, TABLES
from classifeed_pictures.domain.marked_tables import STORED as STORED_PICTURES
from classifeed_pictures.jobs.download import enqueue_downloads
from classifeed_pictures.store.backups import backups
from classifeed_pictures.store.backups.backup_columns import names_of
from classifeed_pictures.store.backups.marks import look_at, move_mark
from classifeed_pictures.store.events import event_gaps
from classifeed_pictures.store.tables import metadata

from ..histories import Processor, hash_of, info, request

GROUP = "pictures"
OFFSETS = """
INSERT INTO consumer_offsets ("group", topic, partition, topic_id, next)
VALUES ('pictures', 't', 0, 'id', 5), ('pictures', 't', 1, 'id', 2), ('others', 't', 0, 'id', 5) RETURNING 1
"""
MOVED = "UPDATE consumer_offsets SET next = 9 WHERE partition = 0 RETURNING 1"
POSITIONS = 'SELECT "group", partition, next FROM consumer_offsets ORDER BY 1, 2'
STORED = """
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces)
VALUES ('offers', %s, %s, %s, 1, sha256('1'), 1, 10, '', '[]') RETURNING 1
"""
ROWS = 20_000
OF_ALL = f"FROM generate_series(1, {ROWS}) AS n"
SEEDS = (
    f"INSERT INTO pictures (url_hash, url, holdings) SELECT decode(md5(n::text), 'hex'), 'u', '' {OF_ALL}",
    "INSERT INTO requests_in_flight (url_hash, namespace, recipient, reference, requested_url, requested_at)"
    f" SELECT decode(md5(n::text), 'hex'), 'offers', 'r', 'r', 'u', now() {OF_ALL}",
    "INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url)"
    f" SELECT decode(md5(n::text), 'hex'), '', 'offers', 'r', 'r', 'u' {OF_ALL}",
    "INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes,"
    f" info, pieces) SELECT 'offers', 1, n::text, '', 1, '', 1, 1, '', '[]' {OF_ALL}",
    "INSERT INTO blobs (sha256, ref_count, touched_at)"
    f" SELECT encode(sha256(n::text::bytea), 'hex'), 1, now() {OF_ALL}",
    f"INSERT INTO blob_refs (ref, sha256) SELECT n::text, encode(sha256(n::text::bytea), 'hex') {OF_ALL}",
    f"INSERT INTO namespace_usage (namespace, slot, pictures, bytes) SELECT n::text, 1, 1, 1 {OF_ALL}",
    f"INSERT INTO event_files (name, etag, size_bytes, put_at) SELECT n::text, '', 1, now() {OF_ALL}",
)
USAGE = "SELECT sum(pictures)::int, sum(bytes)::int FROM namespace_usage"


def test_keys_are_those_of_the_tables() -> None:
    assert {name: key for name, key, _ in TABLES} == {
        name: tuple(metadata.tables[name].primary_key.columns.keys()) for name, _, _ in TABLES
    }


@pytest.fixture
async def processor(migrated_database: Callable[[str], Awaitable[Database]]) -> Processor:
    """Return a processor with five pictures, and no open gap."""
    processor = Processor(await migrated_database("classifeed_pictures"))
    for number in range(1, 6):
        await processor.store(number)
    await processor.rows("UPDATE event_gaps SET closed_at = now() RETURNING 1")
    return processor


@pytest.fixture
def notice(processor: Processor) -> FindRestored:
    return FindRestored(processor.database, GROUP, JobStore(), event_gaps.open_gap)


async def causes(processor: Processor) -> list[str]:
    async with processor.database.transaction() as tx:
        return [gap.cause for gap in await event_gaps.list_open(tx)]


async def test_rows_that_are_changed_or_deleted_are_no_restore(processor: Processor, notice: FindRestored) -> None:
    for _ in range(2):
        assert await notice() == {}
    for table in ("pictures", "settled_requests"):
        await processor.rows(f"DELETE FROM {table} WHERE mark IS NOT NULL RETURNING 1")
    assert [await notice(), await notice()] == [{}, {}]
    assert await causes(processor) == []
    assert await processor.rows("SELECT count(mark) FROM pictures") == [(2,)], "other rows are marked"


async def test_marks_move_without_a_look_at_all_rows(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    """As after the migration of large tables, when the planner has no statistics of the new column."""
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        for seed in SEEDS:
            await tx.execute(seed)
        before = await count_read(tx)
        for table in TABLES:
            for _ in range(2):
                found = await look_at(tx, table)
                await move_mark(tx, table, number=found.noted + 1, positions=[])
            newest = f"SELECT ctid FROM {table.name} WHERE mark IS NOT NULL ORDER BY (mark->>'number')::bigint LIMIT 1"
            await tx.execute(f"UPDATE {table.name} SET mark = NULL WHERE ctid = ({newest})")
            found = await look_at(tx, table)
            await move_mark(tx, table, number=found.noted + 1, positions=[])
            assert found.number == 2
        read = await count_read(tx)
    assert {name: read[name] - before[name] for name in read if read[name] - before[name] > 100} == {}


async def count_read(tx: Tx) -> dict[str, int]:
    """Return how many rows of each table the transaction has read so far."""
    query = "SELECT relname, seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = ANY (%s)"
    return dict(await (await tx.execute(query, [[table.name for table in TABLES]])).fetchall())


async def test_events_since_the_mark_are_applied_again(processor: Processor, notice: FindRestored) -> None:
    await processor.rows(OFFSETS)
    await notice()
    backup = TableBackup(processor.database, "pictures")
    await backup.take()
    await processor.rows(MOVED)
    assert await notice() == {}
    await backup.restore()
    named = await notice()
    assert named.keys() == {"table pictures"}
    assert "partitions with events left: 1" in named["table pictures"]
    assert await processor.rows(POSITIONS) == [("others", 0, 9), ("pictures", 0, 5), ("pictures", 1, 2)]
    assert [await notice(), await causes(processor)] == [named, []]
    await backup.restore()
    assert await notice() == named, "a second restore ends where the first one does"
    assert await causes(processor) == []
    await processor.rows(MOVED)
    assert await notice() == {}


async def test_an_emptied_table_has_offers_request_again(processor: Processor, notice: FindRestored) -> None:
    await notice()
    await processor.rows("DELETE FROM pictures RETURNING 1")
    named = await notice()
    assert named["table pictures"].startswith("The table pictures was emptied")
    assert await causes(processor) == ["a restore of the table pictures"]
    await processor.rows("UPDATE event_gaps SET closed_at = now() RETURNING 1")
    assert await notice() == {}


async def test_lost_pictures_are_downloaded_again_and_the_rest_counts(
    processor: Processor, notice: FindRestored
) -> None:
    check = CheckStates(processor.database, processor.outbox, STORED_PICTURES, refetch_unstored)

    async def store(number: int) -> None:
        await processor.rows(STORED, info(number).group_id, info(number).name, hash_of(number))

    for number in (1, 2, 3):
        await store(number)
    await notice()
    backup = TableBackup(processor.database, "stored_pictures", "blobs", "blob_refs", "namespace_usage")
    await backup.take()
    for number in (4, 5):
        await store(number)
    await processor.rows("UPDATE pictures SET is_put = true WHERE url_hash = %s RETURNING 1", hash_of(5))
    await notice()
    assert not await check()
    assert await processor.take(PictureNotices) == []
    await backup.restore()
    assert "are downloaded again" in (await notice())["table stored_pictures"]
    assert await processor.rows(USAGE) == [(3, 30)]
    assert not await check()
    [message] = await processor.take(PictureNotices)
    assert [(each.url, each.look_again.refresh) for each in message.notices] == [("key-4", True)]
    named = (await notice())["table stored_pictures"]
    assert "Pictures that were put and are lost: 1;" in named
    assert "Wait." not in named


@pytest.mark.parametrize("tables", [("blobs", "blob_refs"), ("namespace_usage",)], ids="+".join)
async def test_files_that_stored_pictures_need_are_noted_again(
    processor: Processor, notice: FindRestored, tables: tuple[str, ...]
) -> None:
    files = "SELECT ref_count FROM blobs", "SELECT count(*)::int FROM blob_refs", USAGE

    async def store(number: int) -> None:
        await processor.rows(STORED, info(number).group_id, info(number).name, hash_of(number))
        async with processor.database.transaction() as tx:
            await backups.derive_files(tx)

    await store(1)
    await notice()
    backup = TableBackup(processor.database, *tables)
    await backup.take()
    await store(2)
    await notice()
    before = [await processor.rows(query) for query in files]
    await backup.restore()
    assert [await processor.rows(query) for query in files] != before
    assert await notice() == {}, "repaired at once"
    assert [await processor.rows(query) for query in files] == before


async def test_orders_whose_jobs_are_lost_are_given_again(processor: Processor, notice: FindRestored) -> None:
    jobs = JobStore()
    check = CheckStates(processor.database, processor.outbox, JOBS, RepeatOrders(jobs))
    assert await notice() == {}, "there are no jobs yet"
    await processor.process({11: [request()], 12: [request()]})
    orders = sorted(await processor.take(DownloadOrder), key=lambda order: order.url_hash)

    async def enqueue(order: DownloadOrder) -> None:
        async with processor.database.transaction() as tx:
            await enqueue_downloads(jobs, tx, [order], downloads_per_host=1)

    await enqueue(orders[0])
    await notice()
    backup = TableBackup(processor.database, "dl_jobs", "dl_job_keys")
    await backup.take()
    await processor.rows("SELECT pg_sleep(0.002)")  # ids have milliseconds
    await enqueue(orders[1])
    assert await notice() == {}
    assert not await check()
    assert await processor.take(PictureNotices) == []
    await backup.restore()
    await enqueue(DownloadOrder(url_hash=hash_of(13), url="https://shop.example/13.jpg", attempt=1))
    assert "ordered again. Wait." in (await notice())["table dl_jobs"]
    assert not await check()
    [message] = await processor.take(PictureNotices)
    found = [(each.url, list(each.look_again.lost_attempts)) for each in message.notices]
    assert found == [("key-12", [orders[1].attempt])]
    assert [await notice(), await notice()] == [{}, {}]
    await processor.rows("DELETE FROM dl_jobs RETURNING 1")
    assert (await notice())["table dl_jobs"].startswith("The table dl_jobs was emptied")


def test_backups_carry_no_marks_as_these_belong_to_one_database() -> None:
    assert "mark" not in names_of("pictures")

"""All issues of a load are kept, listed in one order, and packed into one file without loss."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_WARNING, OfferError
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Tx
from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka import Message
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import JobStore, Worker
from classifeed_processor.app.clean_up import processor_clean_up
from classifeed_processor.app.issues import schedule_packing
from classifeed_processor.app.issues.read_issues import IssuePlace, ReadIssues
from classifeed_processor.app.issues.schedule_packing import QUEUE
from classifeed_processor.app.issues.watch_packing import list_failed_packings
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.domain.issue_blocks import IssueFilter, IssueKey, key_of
from classifeed_processor.domain.statistics import LISTED_A_CODE
from classifeed_processor.jobs.pack_records import packing

from ..inline import Context
from .conftest import Load, bad_price, long_title

FLAWED = 1500


async def fill(load: Load) -> None:
    """Apply 15 batches of 100 flawed offers each, the last batches first: some were sent again."""
    for batch in range(14, -1, -1):
        ordinals = range(100 * batch + 1, 100 * batch + 101)
        await load.take([make(ordinal) for ordinal in ordinals for make in (bad_price, long_title)])


async def check_list(load: Load, of_each: int = FLAWED) -> None:
    found = await load.list()
    assert [key_of(error) for error in found] == sorted(key_of(error) for error in found)
    assert [(error.code, error.ordinal) for error in found] == [
        (code, ordinal) for code in ("PRICE_INVALID", "TITLE_TOO_LONG") for ordinal in range(1, of_each + 1)
    ]
    statistics = (await load.task()).statistics
    assert (statistics.errors, statistics.warnings) == (of_each, of_each)
    assert sum(count.count for count in statistics.issues) == len(found), "the list has what is counted"


async def test_every_issue_is_listed_while_the_load_runs_after_it_and_once_it_is_packed(load: Load) -> None:
    await fill(load)
    await check_list(load)
    await load.end()
    await check_list(load)
    assert await load.count("dl_jobs WHERE task = 'processor.pack-records'") == 1
    await load.pack()
    await check_list(load)
    rows = await load.count("offer_errors"), await load.count("issue_chunks"), await load.count("load_files")
    assert rows == (2 * LISTED_A_CODE, 0, 1)
    [error] = await load.list(external_id="a7", level=ISSUE_LEVEL_WARNING)
    assert error.parameters[0].number == 1007, "a chunk keeps the parameters of the sentences"


@pytest.mark.parametrize("is_packed", [False, True])
async def test_filters_find_the_same_in_rows_chunks_and_file(load: Load, is_packed: bool) -> None:
    await fill(load)
    if is_packed:
        await load.end()
        await load.pack()
    for ordinal in (3, 700, 1450):
        found = await load.list(external_id=f"a{ordinal}")
        assert [(error.code, error.ordinal) for error in found] == [
            ("PRICE_INVALID", ordinal), ("TITLE_TOO_LONG", ordinal),
        ]  # fmt: skip
    assert len(await load.list(code="PRICE_INVALID")) == FLAWED
    assert len(await load.list(field="name")) == FLAWED
    assert {error.code for error in await load.list(level=ISSUE_LEVEL_WARNING)} == {"TITLE_TOO_LONG"}
    assert await load.list(kind=5) == await load.list(code="X") == await load.list(external_id="a1501") == []


async def test_a_block_that_has_nothing_wanted_is_not_read(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(load)
    await load.end()
    await load.pack()
    reads: list[str] = []
    get_piece = load.blobs.get_piece

    async def counted(sha256: str, piece: object) -> bytes:
        reads.append(sha256)
        return await get_piece(sha256, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(load.blobs, "get_piece", counted)
    await load.list(external_id="a700")
    assert len(reads) == 2, "one block of errors, one of warnings"
    reads.clear()
    await load.list(field="no such")
    assert reads == []


class Killed(BaseException):
    """The process ends here."""


class DyingContext(Context):
    """Ends at the n-th guarded transaction, before its commit."""

    def __init__(self, load: Load, at: int) -> None:
        super().__init__(load.database)
        self.left = at

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        async with super().guarded_transaction() as tx:
            yield tx
            self.left -= 1
            if not self.left:
                raise Killed


class DyingPut(BlobStore):
    """Ends before or after a file is stored."""

    def __init__(self, inner: BlobStore, *, is_file_there: bool) -> None:
        self._inner = inner
        self._is_file_there = is_file_there

    async def put_file(self, path: Path, sha256: str) -> None:
        if self._is_file_there:
            await self._inner.put_file(path, sha256)
        raise Killed


class FailingPut(BlobStore):
    """Raises an unexpected exception."""

    def __init__(self, inner: BlobStore) -> None:
        self._inner = inner
        self.is_failing = True

    async def put_file(self, path: Path, sha256: str) -> None:
        if self.is_failing:
            raise LookupError("the store lost its mind")
        await self._inner.put_file(path, sha256)


class Unsent:
    """Sends nothing, because a packing has nothing to send."""

    async def send(self, messages: Sequence[Message]) -> None:
        raise AssertionError


@pytest.mark.parametrize("step", ["refer", "put", "kept", "swap"])
async def test_a_kill_at_each_step_of_the_packing_loses_nothing_and_leaves_no_file(load: Load, step: str) -> None:
    await fill(load)
    await load.end()
    contexts = {"refer": DyingContext(load, 1), "swap": DyingContext(load, 2)}
    blobs = {"put": DyingPut(load.blobs, is_file_there=False), "kept": DyingPut(load.blobs, is_file_there=True)}
    with pytest.raises(Killed):
        await load.pack(blobs.get(step), contexts.get(step))
    await check_list(load)
    await load.take_late([bad_price(FLAWED + 1), long_title(FLAWED + 1)])  # so that the next file is different
    await load.pack()
    await check_list(load, FLAWED + 1)
    assert await load.count("issue_chunks") == 0
    await check_files(load)


async def check_files(load: Load) -> None:
    """Only the file of the load has a reference, and a sweep leaves only this file."""
    assert await load.count(f"blob_refs WHERE ref = '{load.key.issues_ref}'") == 1
    await BlobRefs().sweep(load.database, load.blobs, grace_s=0)
    async with load.database.transaction() as tx:
        [(sha256,)] = await (await tx.execute("SELECT object FROM load_files")).fetchall()
    assert await load.blobs.list_own() == [sha256]


async def test_late_issues_go_into_a_new_file_and_the_old_one_goes_after_the_grace_time(load: Load) -> None:
    await fill(load)
    await load.end()
    await load.pack()
    [before] = await load.blobs.list_own()
    await load.take_late([bad_price(FLAWED + 1), long_title(FLAWED + 1)])
    await check_list(load, FLAWED + 1)
    assert await load.count("dl_jobs WHERE task = 'processor.pack-records'") == 2
    await load.take_late([bad_price(FLAWED + 2), long_title(FLAWED + 2)])
    assert await load.count("dl_jobs WHERE task = 'processor.pack-records'") == 2, "one job for all that wait"
    await load.pack()
    await check_list(load, FLAWED + 2)
    assert before in await load.blobs.list_own(), "a reader may be at it"
    await check_files(load)


async def test_many_late_chunks_are_packed_at_once(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_packing, "_MANY_CHUNKS", 3)
    await fill(load)
    await load.end()
    await load.pack()
    waiting = "dl_jobs WHERE task = 'processor.pack-records' AND available_at > clock_timestamp()"
    await load.take_late([bad_price(FLAWED + 1)])
    assert await load.count(waiting) == 1
    await load.take_late([bad_price(FLAWED + 2)])
    await load.take_late([bad_price(FLAWED + 3)])
    assert await load.count(waiting) == 0


async def test_a_packing_that_fails_is_retried_and_named_until_it_succeeds(load: Load) -> None:
    await fill(load)
    await load.end()
    blobs = FailingPut(load.blobs)
    jobs = JobStore(tasks=packing)
    parts = RunParts(blobs, Unsent(), jobs, TaskSignals(), "", load.folder / "spool", SellerWindows(1))
    worker = Worker(load.database, jobs, packing, queues={QUEUE: 1}, resources=parts, drain_grace_s=0.0)
    stop = asyncio.Event()
    working = asyncio.create_task(worker.run(stop))
    count = "dl_jobs WHERE task = 'processor.pack-records' AND waits_for = 'time' AND attempt = {attempt}"

    async def has_failed(attempt: int) -> bool:
        return await load.count(count.format(attempt=attempt)) == 1

    async def named() -> list[str]:
        async with load.database.transaction() as tx:
            return list((await list_failed_packings(tx)).values())

    async def make_due() -> None:
        async with load.database.transaction() as tx:
            rows = await (await tx.execute("SELECT job_id FROM dl_jobs WHERE queue = %s", [QUEUE])).fetchall()
            await jobs.make_due(tx, [job_id for (job_id,) in rows])

    for attempt in range(1, 8):
        await until(partial(has_failed, attempt))
        words = await named()
        assert len(words) == (attempt >= 5)
        assert all("The issues of 1 ended loads could not be packed" in each for each in words)
        assert all("the store lost its mind" in each for each in words)
        blobs.is_failing = attempt < 7
        await make_due()

    async def is_packed() -> bool:
        return await load.count("load_files") == 1

    await until(is_packed)
    stop.set()
    await working
    assert await named() == []
    await check_list(load)


async def test_a_list_under_way_goes_on_while_its_chunks_become_a_file(load: Load) -> None:
    await fill(load)
    await load.end()
    read = ReadIssues(load.database, load.blobs)(load.key, load.run, IssueFilter())
    found: list[OfferError] = []
    async for error, _ in read:
        found.append(error)
        if len(found) == 150:
            await load.pack()
    assert [key_of(error) for error in found] == [key_of(error) for error in await load.list()]


async def test_issues_with_one_key_are_listed_as_often_as_they_were_counted(load: Load) -> None:
    """Late errors past the stored ones are counted each time, and a page may end between them."""
    await fill(load)
    await load.end()
    same = bad_price(9)
    for _ in range(3):
        await load.take_late([same, bad_price(9, code="OTHER")])
        async with load.database.transaction() as tx:
            await tx.execute("DELETE FROM late_errors")
    whole = [key_of(error) for error in await load.list()]
    assert whole.count(key_of(same)) == 4
    paged: list[IssueKey] = []
    place = IssuePlace()
    while True:
        before = len(paged)
        async for error, after in ReadIssues(load.database, load.blobs)(load.key, load.run, IssueFilter(), place):
            paged.append(key_of(error))
            place = after
            if len(paged) - before == 7:
                break
        if len(paged) == before:
            break
    assert paged == whole


async def test_a_damaged_chunk_is_left_out_and_stops_nothing(load: Load) -> None:
    await fill(load)
    await load.end()
    async with load.database.transaction() as tx:
        await tx.execute(
            "UPDATE issue_chunks SET issues = 'x' WHERE chunk_id = (SELECT min(chunk_id) FROM issue_chunks)"
        )
    left = len(await load.list())
    assert left < 2 * FLAWED
    await load.pack()
    assert len(await load.list()) == left
    assert (await load.count("issue_chunks"), await load.count("issue_chunks WHERE run = 0")) == (1, 1)
    await load.take_late([bad_price(FLAWED + 1)])
    await load.pack()
    assert len(await load.list()) == left + 1


async def test_a_file_that_is_gone_is_named_with_what_to_do(load: Load) -> None:
    await fill(load)
    await load.end()
    await load.pack()
    [sha256] = await load.blobs.list_own()
    await load.blobs.delete(sha256)
    with pytest.raises(FailedPrecondition, match="Load the file of the feed again") as refused:
        await load.list()
    assert refused.value.reason == "ISSUES_GONE"


async def test_nothing_is_packed_before_the_load_has_ended(load: Load) -> None:
    await fill(load)
    await load.pack()
    assert (await load.count("issue_chunks") > 0, await load.count("load_files")) == (True, 0)


async def test_chunks_and_file_go_with_the_task(load: Load) -> None:
    await fill(load)
    await load.end()
    await load.pack()
    await load.take_late([bad_price(FLAWED + 1)])
    async with load.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO tasks SELECT (json_populate_record(t,"
            " json_build_object('task_id', t.task_id + 1, 'upload_id', 'v'))).* FROM tasks t"
        )
    await processor_clean_up(history_tasks=1).run(load.database, datetime.now(UTC))
    rows = [await load.count(f"{table} WHERE task_id = {load.key.task_id}") for table in ("issue_chunks", "load_files")]
    assert rows == [0, 0]
    await load.pack()  # a job that comes late
    await BlobRefs().sweep(load.database, load.blobs, grace_s=0)
    assert await load.blobs.list_own() == []


async def test_statistics_say_how_many_have_no_row(load: Load) -> None:
    await fill(load)
    statistics: FeedStatistics = (await load.task()).statistics
    assert {count.code: count.further for count in statistics.issues} == {
        "PRICE_INVALID": FLAWED - LISTED_A_CODE, "TITLE_TOO_LONG": FLAWED - LISTED_A_CODE,
    }  # fmt: skip

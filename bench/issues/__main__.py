"""`make bench-issues`: memory and time of exports of all issues of a load, each in its own process.

The load has BENCH_ISSUES issues, by default 1,000,000: half errors, half warnings, each with values for its sentence.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, Final

from tools.arguments import parser_of

from bench.kit.report import Report
from bench.kit.running import measure_in_process, scratch, size_of
from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_VALIDATION,
    ISSUE_LEVEL_ERROR,
    ISSUE_LEVEL_WARNING,
    IssueParameter,
    OfferError,
)
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    TASK_END_OUTCOME_COMPLETED,
    OfferBatchResult,
    OfferCounts,
    TaskEndResult,
)
from classifeed.feeds.v1.task_service_pb2 import EXPORT_FORMAT_CSV, EXPORT_FORMAT_XLSX, CreateTaskRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import DatabaseServer
from classifeed_devkit.testing.measuring.memory import forget_peak, peak_bytes, resident_bytes
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import JobStore, Worker
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.issues.schedule_packing import QUEUE
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.issue_blocks import IssueFilter
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.jobs.pack_records import packing
from classifeed_processor.store import reading, tasks

_FORMATS: Final = {"csv": EXPORT_FORMAT_CSV, "xlsx": EXPORT_FORMAT_XLSX}
_OF_BATCH: Final = 200
_START_S: Final = 120.0
_PACKED_S: Final = 3600.0
_MIB: Final = 1 << 20


class Unsent:
    """Refuses to send: packing issues sends no messages."""

    async def send(self, messages: Any) -> None:
        """Fail."""
        raise AssertionError(messages)


def issues_of(batch: int) -> list[OfferError]:
    """Return the issues of a batch: an error and a warning for each offer."""
    return [make(batch * _OF_BATCH // 2 + place + 1) for place in range(_OF_BATCH // 2) for make in (_error, _warning)]


def _error(ordinal: int) -> OfferError:
    return OfferError(
        external_id=f"a{ordinal}", error_id=f"p{ordinal}", ordinal=ordinal, line=10 * ordinal, column=7, count=1,
        level=ISSUE_LEVEL_ERROR, kind=ISSUE_KIND_VALIDATION, code="PRICE_INVALID", field="price",
        path="offer/price", value=f"{ordinal} руб.", excerpt=f"<price>{ordinal} руб.</price>",
    )  # fmt: skip


def _warning(ordinal: int) -> OfferError:
    return OfferError(
        external_id=f"a{ordinal}", error_id=f"t{ordinal}", ordinal=ordinal, line=10 * ordinal + 2, column=3, count=1,
        level=ISSUE_LEVEL_WARNING, kind=ISSUE_KIND_VALIDATION, code="TITLE_TOO_LONG", field="name", value="T" * 40,
        path="offer/name", excerpt=f"<name>{'T' * 40}</name>",
        parameters=[IssueParameter(name="length", number=1000 + ordinal % 1000)],
    )  # fmt: skip


async def make_load(database: Database, count: int) -> TaskKey:
    """Store the results of a finished load; return its key."""
    request = CreateTaskRequest(seller_id="shop", namespace="default", upload_id="u", source_sha256="a" * 64)
    store = JobStore()
    key = await create_task(database, store, request, timeout_s=60)
    batches = -(-count // _OF_BATCH)
    async with database.transaction() as tx:
        run = await tasks.begin_run(tx, key, b"")
        await tasks.insert_batches(tx, key, run, [(number, _OF_BATCH // 2) for number in range(1, batches + 1)])
        await tasks.note_scan(tx, key, run, format_name="yml", expected_total=count // 2, warnings=[])
    named = {**key._asdict(), "run": run}
    counts = OfferCounts(rejected_validation=_OF_BATCH // 2)
    for batch in range(batches):
        result = OfferBatchResult(
            **named, batch_id=batch + 1, outcome=BATCH_OUTCOME_APPLIED, counts=counts, errors=issues_of(batch)
        )
        async with database.transaction() as tx:
            await take_results(tx, store, [result])
    async with database.transaction() as tx:
        await tasks.note_sent(tx, key, run, batch_count=batches, digest=b"")
        await take_results(tx, store, [TaskEndResult(**named, outcome=TASK_END_OUTCOME_COMPLETED)])
    return key


async def pack(database: Database, blobs: BlobStore, folder: Path) -> float:
    """Pack the issues as the processor's job does; return the seconds."""
    store = JobStore(tasks=packing)
    parts = RunParts(blobs, Unsent(), store, TaskSignals(), "", folder, SellerWindows(1))
    worker = Worker(database, store, packing, queues={QUEUE: 1}, resources=parts, drain_grace_s=60.0)
    stop = asyncio.Event()
    began_s = time.monotonic()
    working = asyncio.create_task(worker.run(stop))

    async def is_packed() -> bool:
        return bool(await _count(database, "load_files")) and not await _count(database, "issue_chunks")

    await until(is_packed, within_s=_PACKED_S)
    seconds = time.monotonic() - began_s
    stop.set()
    await working
    return seconds


async def _count(database: Database, table: str) -> int:
    async with database.transaction() as tx:
        [(rows,)] = await (await tx.execute(f"SELECT count(*) FROM {table}")).fetchall()
    return int(rows)


async def export(format_name: str) -> dict[str, float]:
    """Export the load twice, the first time a small part of it; return figures of the second export."""
    database, blobs = _database(), _blobs()
    await database.open()
    await blobs.open()
    key = TaskKey.parse(os.environ["BENCH_TASK"])
    async with database.transaction() as tx:
        task = await reading.find_task(tx, key)
    assert task is not None
    exports = ExportIssues(ReadIssues(database, blobs), Path(os.environ["BENCH_FOLDER"]))
    for wanted in (IssueFilter(external_id="a7"), IssueFilter()):
        forget_peak()
        before, began_s, size, count = resident_bytes(), time.monotonic(), 0, 0
        async with aclosing(exports(task, _FORMATS[format_name], wanted)) as pieces:
            async for piece, issues in pieces:
                size, count = size + len(piece), issues
    figures = {
        "issues": count,
        "seconds": time.monotonic() - began_s,
        "file MiB": size / _MIB,
        "grown MiB": (peak_bytes() - before) / _MIB,
    }
    await blobs.close()
    await database.close()
    return figures


def _database() -> Database:
    return Database(os.environ["BENCH_DSN"], schema="processor", application_name="bench", max_size=4)


def _blobs() -> BlobStore:
    return BlobStore(
        endpoint=os.environ["BENCH_S3"],
        access_key="bench",
        secret_key=os.environ["BENCH_S3_KEY"],
        bucket="bench-issues",
    )


@contextmanager
def servers() -> Iterator[None]:
    """Run PostgreSQL and S3 for the block, with their addresses in the environment."""
    with scratch() as folder:
        os.environ["BENCH_FOLDER"] = str(folder / "spool")
        os.environ["BENCH_S3_KEY"] = secrets.token_urlsafe(16)
        postgres = EmbeddedPostgres(folder / "postgres", password=secrets.token_urlsafe(16))
        s3 = EmbeddedS3(folder / "s3", access_key="bench", secret_key=os.environ["BENCH_S3_KEY"])
        try:
            for server in (postgres, s3):
                server.prepare()
                server.spawn()
            for server in (postgres, s3):
                server.wait_ready(_START_S)
            os.environ["BENCH_DSN"] = DatabaseServer(postgres.dsn).create_migrated("classifeed_processor", "processor")
            os.environ["BENCH_S3"] = s3.endpoint
            yield
        finally:
            for server in (s3, postgres):
                server.stop()


async def prepare(count: int, report: Report) -> None:
    """Make the load and pack it."""
    database, blobs = _database(), _blobs()
    await database.open()
    await blobs.open()
    began_s = time.monotonic()
    key = await make_load(database, count)
    os.environ["BENCH_TASK"] = key.name
    report.show("seconds to take the issues", time.monotonic() - began_s)
    report.show("seconds to pack them", await pack(database, blobs, Path(os.environ["BENCH_FOLDER"])))
    await blobs.close()
    await database.close()


def main() -> None:
    """Print the figures of each format."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "export", nargs="?", choices=_FORMATS, help="format to export in this process; used by the benchmark"
    )
    arguments = parser.parse_args()
    if arguments.export:
        print(json.dumps(asyncio.run(export(arguments.export))))
        return
    count = size_of("BENCH_ISSUES", 1_000_000)
    report = Report("issues", issues=count)
    with servers():
        asyncio.run(prepare(count, report))
        found = {name: measure_in_process("bench.issues", name) for name in _FORMATS}
    report.table("Exports", list(found["csv"]), {name: figures.values() for name, figures in found.items()})
    report.finish()


if __name__ == "__main__":
    main()

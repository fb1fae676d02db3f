"""Loads with many issues, over real PostgreSQL and a real object store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
    LateError,
    LateResult,
    OfferBatchResult,
    OfferCounts,
    TaskEndResult,
)
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.stores import open_store
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.pack_issues import pack_issues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.issue_blocks import IssueFilter
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading, tasks

from ..inline import Context


def bad_price(ordinal: int, **fields: Any) -> OfferError:
    """Return an issue like those of the reader."""
    usual: dict[str, Any] = {"level": ISSUE_LEVEL_ERROR, "code": "PRICE_INVALID", "field": "price", "value": "5 руб."}
    fields = usual | fields
    return OfferError(
        external_id=f"a{ordinal}", error_id=f"{fields['code']}-{ordinal}", ordinal=ordinal, line=10 + ordinal, column=7,
        kind=ISSUE_KIND_VALIDATION, path="offer/price", excerpt=f"<price>{ordinal} руб.</price>", count=1, **fields,
    )  # fmt: skip


def long_title(ordinal: int) -> OfferError:
    """Return a warning whose text has a parameter."""
    length = [IssueParameter(name="length", number=1000 + ordinal)]
    return bad_price(
        ordinal, level=ISSUE_LEVEL_WARNING, code="TITLE_TOO_LONG", field="name", value="T", parameters=length
    )


@dataclass
class Load:
    """A load; `end` and `pack` move it on."""

    database: Database
    blobs: BlobStore
    folder: Path
    key: TaskKey
    run: int = 0
    batches: int = 0

    async def begin(self, batches: int) -> None:
        async with self.database.transaction() as tx:
            self.run = await tasks.begin_run(tx, self.key, b"")
            await tasks.insert_batches(tx, self.key, self.run, [(number, 1) for number in range(1, batches + 1)])

    async def take(self, errors: Sequence[OfferError]) -> None:
        """Apply the result of the next batch."""
        self.batches += 1
        reply = OfferBatchResult(
            **self.key._asdict(), run=self.run, batch_id=self.batches, outcome=BATCH_OUTCOME_APPLIED,
            counts=OfferCounts(rejected_validation=1), errors=errors,
        )  # fmt: skip
        async with self.database.transaction() as tx:
            await take_results(tx, JobStore(), [reply])

    async def take_late(self, errors: Sequence[OfferError]) -> None:
        reply = LateResult(**self.key._asdict(), errors=[LateError(error=error) for error in errors])
        async with self.database.transaction() as tx:
            await take_results(tx, JobStore(), [reply])

    async def end(self) -> None:
        async with self.database.transaction() as tx:
            await tasks.note_sent(tx, self.key, self.run, batch_count=self.batches, digest=b"")
            await take_results(
                tx,
                JobStore(),
                [TaskEndResult(**self.key._asdict(), run=self.run, outcome=TASK_END_OUTCOME_COMPLETED)],
            )

    async def pack(self, blobs: BlobStore | None = None, context: Context | None = None) -> None:
        await pack_issues(context or Context(self.database), blobs or self.blobs, self.folder / "spool", self.key)

    async def task(self) -> Task:
        async with self.database.transaction() as tx:
            task = await reading.find_task(tx, self.key)
        assert task is not None
        return task

    async def list(self, **wanted: Any) -> list[OfferError]:
        reader = ReadIssues(self.database, self.blobs)
        return [error async for error, _ in reader(self.key, self.run, IssueFilter(**wanted))]

    async def count(self, table: str) -> int:
        async with self.database.transaction() as tx:
            [(rows,)] = await (await tx.execute(f"SELECT count(*) FROM {table}")).fetchall()
        return int(rows)


@pytest.fixture
async def blobs(s3: EmbeddedS3) -> AsyncIterator[BlobStore]:
    async with open_store(s3) as store:
        yield store


@pytest.fixture
async def load(migrated_database: MigratedDatabase, blobs: BlobStore, tmp_path: Path) -> Load:
    """Return a load that has begun, of 15 batches."""
    database = await migrated_database("classifeed_processor", "processor")
    request = CreateTaskRequest(seller_id="shop", namespace="default", upload_id="u", source_sha256="a" * 64)
    key = await create_task(database, JobStore(), request, timeout_s=60)
    load = Load(database, blobs, tmp_path, key)
    await load.begin(15)
    async with database.transaction() as tx:
        await tasks.note_scan(tx, key, load.run, format_name="yml", expected_total=1, warnings=[])
    return load

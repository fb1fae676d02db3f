"""A fetch that created a task is removed with its reference to the file, after its task and never before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Database
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_jobs import CleanUp
from classifeed_loader.app.clean_up import remove_old_fetches

AT = datetime(2026, 11, 26, tzinfo=UTC)
LOADED, SAME, FAILED = (
    feed_pb2.FETCH_OUTCOME_LOADED,
    feed_pb2.FETCH_OUTCOME_SAME_CONTENT,
    feed_pb2.FETCH_OUTCOME_FAILED,
)


class Tasks:
    """A fake processor with some tasks."""

    def __init__(self, *numbers: int) -> None:
        self.names = {task_name(number) for number in numbers}
        self.is_away = False

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        if self.is_away:
            raise ConnectionError("away")
        return self.names & set(names)


def task_name(number: int) -> str:
    return f"sellers/s/feeds/default/tasks/{number}"


@pytest.fixture
async def db(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_loader", "loader")


async def insert(db: Database, outcomes: Mapping[int, int | None], *, last: int = 0, status: int = 1) -> None:
    """Insert a source and its fetches by id, with outcomes (None: open) and tasks of the same numbers."""
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO feed_loader_task (seller_id, namespace, feed_version, status, url, sealed_credentials,"
            " interval_s, mode, disposition, format, last_result_id)"
            " VALUES ('s', 'default', 1, %s, '', '', 1, 1, 1, '', %s)",
            (status, last),
        )
        for number, outcome in outcomes.items():
            await tx.execute(
                "INSERT INTO feed_fetches (seller_id, namespace, feed_loader_result_id, feed_version, trigger, outcome,"
                " task, ended_at) VALUES ('s', 'default', %s, 1, 1, %s, %s, %s)",
                (number, outcome or 2, task_name(number), AT if outcome is not None else None),
            )
            await BlobRefs().add(tx, f"{number:064x}", f"fetch:{number}")


async def left(db: Database) -> list[int]:
    async with db.transaction() as tx:
        rows = await (await tx.execute("SELECT feed_loader_result_id FROM feed_fetches ORDER BY 1")).fetchall()
        refs = await (await tx.execute("SELECT ref FROM blob_refs ORDER BY length(ref), ref")).fetchall()
    assert [ref for (ref,) in refs] == [f"fetch:{number}" for (number,) in rows]
    return [number for (number,) in rows]


async def clean(db: Database, tasks: Tasks, limit: int = 200) -> None:
    step = partial(remove_old_fetches, tasks=tasks, refs=BlobRefs(), limit=limit)
    await CleanUp("c", [step]).run(db, AT)


@pytest.mark.parametrize("limit", [1, 2, 200])
async def test_fetches_go_with_their_tasks(db: Database, limit: int) -> None:
    """The fetch whose file may be requested again stays, as do an open one and those that created no task."""
    await insert(db, {1: LOADED, 2: LOADED, 3: SAME, 4: FAILED, 5: LOADED, 6: LOADED, 7: None}, last=6)
    await clean(db, Tasks(2, 9), limit)
    assert await left(db) == [2, 3, 4, 6, 7]


async def test_of_a_removed_source_the_rest_goes_too(db: Database) -> None:
    outcomes = {1: LOADED, 2: SAME, 3: FAILED, 4: LOADED, 5: None}
    await insert(db, outcomes, last=4, status=feed_pb2.FEED_STATUS_REMOVED)
    await clean(db, Tasks(1))
    assert await left(db) == [1, 4, 5]


async def test_nothing_goes_while_the_processor_cannot_be_asked(db: Database) -> None:
    await insert(db, {1: LOADED, 2: LOADED})
    tasks = Tasks()
    tasks.is_away = True
    with pytest.raises(ConnectionError):
        await clean(db, tasks)
    assert await left(db) == [1, 2]

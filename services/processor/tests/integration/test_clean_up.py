"""In each namespace, the last tasks and those that later ones are compared with are kept; open tasks always stay."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import FindTasksRequest
from classifeed_common.db import Database
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_jobs import JobStore
from classifeed_processor.app import clean_up as cleaning
from classifeed_processor.app.clean_up import processor_clean_up, remove_old_tasks
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.task_service.tasks import TaskMethods
from classifeed_processor.store import tasks

AT = datetime(2026, 11, 26, tzinfo=UTC)
DONE, HELD, OPEN = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_HELD, task_pb2.TASK_STATUS_IN_PROGRESS
SUPERSEDED = task_pb2.TASK_STATUS_SUPERSEDED
LOAD, DELETE = task_pb2.TASK_KIND_LOAD, task_pb2.TASK_KIND_DELETE


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_processor", "processor")


async def insert(database: Database, number: int, namespace: str = "default", **fields: Any) -> None:
    """Make a task with 3 issues and 3 batches; its number is also that of its fetch, unless it is a removal."""
    values = {"kind": LOAD, "status": DONE, "feed_version": 1, **fields}
    is_load = values["kind"] == LOAD
    row = {**values, "number": number, "namespace": namespace, "fetch": number if is_load else None,
           "is_ended": values["status"] not in {OPEN, HELD}}  # fmt: skip
    async with database.transaction() as tx:
        await tx.execute("INSERT INTO task_counters VALUES ('s', %(namespace)s, 1) ON CONFLICT DO NOTHING", row)
        await tx.execute(
            """
            INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, run, mode, disposition,
                               feed_loader_task_id, feed_loader_result_id, feed_version, source_sha256, source_bytes,
                               file_name, ended_at)
            VALUES ('s', %(namespace)s, %(number)s, %(kind)s, %(status)s, 3, 1, 1, 1,
                    CASE WHEN %(fetch)s::bigint IS NOT NULL THEN hashtext(%(namespace)s) END, %(fetch)s::bigint,
                    %(feed_version)s, '', 0, '', CASE WHEN %(is_ended)s THEN clock_timestamp() END)
            """,
            row,
        )
        key = "SELECT 's', %(namespace)s, %(number)s"
        await tx.execute(f"INSERT INTO feed_statistics {key}, 1, ''", row)
        await tx.execute(f"INSERT INTO offer_batches {key}, 1, b, 100 FROM generate_series(1, 3) b", row)
        await tx.execute(
            f"INSERT INTO offer_errors {key}, e::text, e::text, 1, e, 1, 1, 'C', '', 1, 1, '', '', '', '', '', '', ''"
            " FROM generate_series(1, 3) e",
            row,
        )


async def kept(database: Database, namespace: str = "default") -> list[int]:
    """Return the numbers of the existing tasks; check that each has all its details, and that there are no others."""
    async with database.transaction() as tx:
        at = (namespace,)
        rows = await (await tx.execute("SELECT task_id FROM tasks WHERE namespace = %s ORDER BY 1", at)).fetchall()
        for table, each in (("feed_statistics", 1), ("offer_batches", 3), ("offer_errors", 3)):
            found = await tx.execute(f"SELECT count(*) FROM {table} WHERE namespace = %s", at)
            assert (await found.fetchone()) == (each * len(rows),), table
    return [row[0] for row in rows]


@pytest.mark.parametrize("namespaces_at_once", [1, 2, 200])
async def test_last_tasks_of_each_namespace_stay(
    database: Database, monkeypatch: pytest.MonkeyPatch, namespaces_at_once: int
) -> None:
    """Steps of any size: here of one namespace, two details, three tasks."""
    monkeypatch.setattr(cleaning, "_NAMESPACES", namespaces_at_once)
    if namespaces_at_once < 200:
        monkeypatch.setattr(cleaning, "_ROWS", 2)
        monkeypatch.setattr(cleaning, "_TASKS", 3)
    for namespace in ("a", "b", "c"):
        for number in range(1, 9):
            await insert(database, number, namespace)
    await insert(database, 1, "few")
    await processor_clean_up(history_tasks=3).run(database, AT)
    assert [await kept(database, namespace) for namespace in ("a", "b", "c", "few")] == [[6, 7, 8]] * 3 + [[1]]
    assert await processor_clean_up(history_tasks=3).run(database, AT) == 0


async def test_what_is_open_or_waits_for_a_decision_stays_and_counts_for_nothing(database: Database) -> None:
    for number, status in enumerate([OPEN, HELD, DONE, DONE, DONE, DONE, OPEN, OPEN, OPEN], 1):
        await insert(database, number, status=status)
    await processor_clean_up(history_tasks=2).run(database, AT)
    assert await kept(database) == [1, 2, 5, 6, 7, 8, 9]


async def test_what_later_loads_are_compared_with_stays(database: Database) -> None:
    """The newest removal, the newest loaded fetch and the newest load are kept, with any number of superseded tasks
    after them. A load that was canceled during its run has changed offers, so it counts as the newest.
    """
    await insert(database, 1, kind=DELETE, feed_version=2)
    await insert(database, 2, kind=DELETE, feed_version=5, status=task_pb2.TASK_STATUS_FAILED)
    await insert(database, 3, feed_version=7)
    await insert(database, 4, feed_version=6, status=task_pb2.TASK_STATUS_CANCELED)
    for number in range(5, 30):
        await insert(database, number, feed_version=6, status=SUPERSEDED)
    async with database.transaction() as tx:
        before = await tasks.get_marks(tx, "s", "default", (DONE,))
    await processor_clean_up(history_tasks=2).run(database, AT)
    assert await kept(database) == [2, 3, 4, 28, 29]
    async with database.transaction() as tx:
        assert await tasks.get_marks(tx, "s", "default", (DONE,)) == before


@pytest.mark.parametrize("status", [DONE, OPEN, task_pb2.TASK_STATUS_FAILED])
async def test_history_goes_once_the_feeds_removal_has_succeeded(database: Database, status: int) -> None:
    for number in range(1, 5):
        await insert(database, number)
    await insert(database, 5, kind=DELETE, feed_version=2, status=status)
    await insert(database, 6, feed_version=3)
    await processor_clean_up(history_tasks=20).run(database, AT)
    assert await kept(database) == ([5, 6] if status == DONE else [1, 2, 3, 4, 5, 6])


async def test_tasks_that_there_are_can_be_asked_for(database: Database) -> None:
    for number in range(1, 5):
        await insert(database, number)
    await processor_clean_up(history_tasks=2).run(database, AT)
    service = TaskMethods(database, JobStore(), None)  # type: ignore[arg-type]
    names = [TaskKey("s", "default", number).name for number in (1, 2, 3, 4, 9)]
    found = await service.FindTasks(FindTasksRequest(names=names), None)  # type: ignore[arg-type]
    assert (sorted(found.names), list(found.tasks)) == (names[2:4], [])
    await count_offers(database, 4)
    found = await service.FindTasks(FindTasksRequest(names=names, with_tasks=True), None)  # type: ignore[arg-type]
    assert [task.name for task in found.tasks] == list(found.names)
    [third, fourth] = sorted(found.tasks, key=lambda task: task.task_id)
    assert (third.task_id, third.status, third.kind, third.statistics.total) == (3, DONE, LOAD, 0)
    assert (fourth.name, fourth.statistics.total, list(fourth.statistics.issues)) == (names[3], 7, [])


async def count_offers(database: Database, number: int) -> None:
    statistics = task_pb2.FeedStatistics(total=7, issues=[task_pb2.IssueCount(code="PRICE_INVALID", count=2)])
    async with database.transaction() as tx:
        await tx.execute(
            "UPDATE feed_statistics SET statistics = %s WHERE task_id = %s", (statistics.SerializeToString(), number)
        )


async def test_a_step_that_dies_is_done_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 8):
        await insert(database, number)
    monkeypatch.setattr(cleaning, "_ROWS", 2)
    for _ in range(3):  # each step without the cursor of the previous one
        await remove_old_tasks(database.transaction, AT, None, kept=2)
    await partial(processor_clean_up(history_tasks=2).run)(database, AT)
    assert await kept(database) == [6, 7]

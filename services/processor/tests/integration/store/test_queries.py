"""No hot statement scans a table that grows with the loads."""

from __future__ import annotations

import re
from typing import Any

import pytest

from classifeed_common.db import Database, load_queries
from classifeed_devkit.testing.databases import MigratedDatabase

TASK = {"seller_id": "s7", "namespace": "default", "task_id": 3}
TASKS = {"sellers": ["s7", "s8"], "namespaces": ["default", "default"], "task_ids": [3, 3]}
BATCHES = TASKS | {"runs": [1, 1], "batch_ids": [5, 6]}
PAGE = {
    "run": 1, "from_level": 1, "from_ordinal": 5, "from_line": 5, "from_error_id": "", "level": 0, "kind": 0,
    "code": "", "field": "", "external_id": "", "limit": 101,
}  # fmt: skip
ERRORS: dict[str, list[Any]] = {
    name: []
    for name in (
        "external_ids", "error_ids", "ordinals", "levels", "kinds", "codes", "fields", "lines", "columns", "paths",
        "excerpts", "values", "expecteds", "titles", "messages", "suggestions", "counts",
        "parameters",
    )
}  # fmt: skip
LATE: dict[str, Any] = {"external_ids": ["o3"], "error_ids": ["e"], "move": [False], "limit": 100}
OLD = {"kept": 5, "limit": 10, "succeeded": 3, "superseded": 5, "canceled": 6, "finished": [2, 3, 4]}
HOT: list[tuple[str, str, dict[str, Any]]] = [
    ("tasks.sql", "lock_counter", TASK),
    ("tasks.sql", "find_upload", {"upload_id": "s7-3"}),
    ("tasks.sql", "find_fetch", {"feed_loader_task_id": 7, "feed_loader_result_id": 703}),
    ("tasks.sql", "find_removal", TASK | {"feed_version": 1}),
    ("tasks.sql", "find_newest", TASK | {"superseded": 5, "canceled": 6}),
    ("tasks.sql", "find_newest_fetch", TASK | {"statuses": [2, 3, 4]}),
    ("tasks.sql", "find_removed_version", TASK),
    ("tasks.sql", "lock_task", TASK),
    ("tasks.sql", "find_job", TASK),
    ("tasks.sql", "read_state", TASK),
    ("tasks.sql", "has_earlier", TASK | {"held": 2}),
    ("tasks.sql", "drop_batches", TASK | {"run": 2}),
    ("tasks.sql", "count_unanswered", TASK | {"run": 1}),
    ("tasks.sql", "list_unanswered", TASK | {"run": 1}),
    ("tasks.sql", "find_last_batch", TASK | {"run": 1}),
    ("tasks.sql", "note_reported", TASK | {"parsing": 1, "reported": 2, "losses": 1}),
    ("tasks.sql", "find_next_job", TASK | {"held": 2}),
    ("reruns.sql", "find_rerun", {"seller_id": "s7", "request_id": "r"}),
    ("reruns.sql", "lock_earlier", TASK),
    ("reruns.sql", "count_open_reruns", TASK),
    ("results.sql", "lock_tasks", TASKS),
    ("results.sql", "note_replies", BATCHES),
    ("results.sql", "lock_statistics", TASK),
    ("results.sql", "insert_errors", TASK | {"run": 1} | ERRORS),
    ("results.sql", "note_late_errors", TASK | LATE),
    ("cleaning.sql", "list_old_tasks", TASKS | OLD),
    ("cleaning.sql", "delete_errors", TASKS | {"limit": 10}),
    ("cleaning.sql", "delete_batches", TASKS | {"limit": 10}),
    ("cleaning.sql", "delete_chunks", TASKS | {"limit": 10}),
    ("cleaning.sql", "delete_files", TASKS),
    ("issues.sql", "list_chunks", TASK | {"run": 1, "limit": 10}),
    ("issues.sql", "read_chunk", TASK | {"chunk_id": 5}),
    ("issues.sql", "count_chunks", TASK | {"limit": 10}),
    ("issues.sql", "put_aside", TASK | {"chunk_ids": [5]}),
    ("issues.sql", "delete_chunks", TASK | {"chunk_ids": [5]}),
    ("issues.sql", "read_file", TASK | {"kind": 1}),
    ("tasks.sql", "drop_chunks", TASK | {"run": 2}),
    ("cleaning.sql", "delete_statistics", TASKS),
    ("cleaning.sql", "delete_tasks", TASKS),
    ("reading.sql", "list_existing_tasks", TASKS),
    ("reading.sql", "list_standings", TASKS),
    ("tasks.sql", "drop_errors", TASK | {"run": 2}),
    ("reading.sql", "get_task", TASK),
    ("reading.sql", "list_tasks", TASK | {"before": 9, "limit": 51}),
    ("reading.sql", "list_errors", TASK | PAGE),
    ("reading.sql", "find_batch", TASK | {"run": 1, "ordinal": 450}),
    ("reading.sql", "first_sent", TASK | {"run": 1}),
    ("reading.sql", "count_unheard", {"asks": 3}),
]


@pytest.fixture
async def seeded(migrated_database: MigratedDatabase) -> Database:
    database = await migrated_database("classifeed_processor", "processor")
    async with database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, run, mode, disposition, upload_id,
                               feed_loader_task_id, feed_loader_result_id, feed_version, source_sha256, source_bytes,
                               file_name, ended_at)
            SELECT 's' || s, 'default', t, CASE WHEN t % 10 = 0 THEN 2 ELSE 1 END, 3, 3, 1, 1, 1,
                   CASE WHEN t % 2 = 0 AND t % 10 > 0 THEN 's' || s || '-' || t END,
                   CASE WHEN t % 2 = 1 THEN s END, CASE WHEN t % 2 = 1 THEN 100 * s + t END, t, '', 0, '',
                   CASE WHEN t < 20 THEN clock_timestamp() END
            FROM generate_series(1, 200) s, generate_series(1, 20) t
            """
        )
        await tx.execute("INSERT INTO task_counters SELECT 's' || s, 'default', 20 FROM generate_series(1, 200) s")
        await tx.execute("INSERT INTO feed_statistics SELECT seller_id, namespace, task_id, 1, '' FROM tasks")
        await tx.execute(
            """
            INSERT INTO offer_batches (seller_id, namespace, task_id, run, batch_id, records, answered_at)
            SELECT seller_id, namespace, task_id, 1, b, 100, clock_timestamp() FROM tasks, generate_series(1, 10) b
            """
        )
        await tx.execute(
            """
            INSERT INTO offer_errors
            SELECT seller_id, namespace, task_id, 'o' || e, md5(e::text), 1, e, 1 + e % 2, 1, 'PRICE_INVALID', 'price',
                   e, 1, '', '', '', '', '', '', ''
            FROM tasks, generate_series(1, 10) e
            """
        )
        await tx.execute(
            """
            INSERT INTO late_errors
            SELECT seller_id, namespace, task_id, 'o' || e, md5(e::text) FROM tasks, generate_series(1, 10) e
            """
        )
        await tx.execute(
            """
            INSERT INTO issue_chunks (seller_id, namespace, task_id, run, summary, issues)
            SELECT seller_id, namespace, task_id, 1, '', '' FROM tasks, generate_series(1, 10)
            """
        )
        await tx.execute("INSERT INTO load_files SELECT seller_id, namespace, task_id, 1, '', 1, '' FROM tasks")
    async with database.connection() as connection:
        await connection.execute("ANALYZE")
    return database


async def test_pages_of_issues_come_from_the_index_in_their_order(seeded: Database) -> None:
    statement = load_queries("classifeed_processor.store", "reading.sql")["list_errors"]
    async with seeded.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO offer_errors
            SELECT 's7', 'default', 3, 'p' || e, md5(e::text), 1, e, 1 + e % 2, 1, 'PRICE_INVALID', 'price',
                   e, 1, '', '', '', '', '', '', ''
            FROM generate_series(11, 20000) e
            """
        )
        await tx.execute("ANALYZE offer_errors")
        rows = await (await tx.execute("EXPLAIN " + statement, TASK | PAGE)).fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert "offer_errors_by_ordinal" in plan, plan
    assert "Sort" not in plan, plan


async def test_hot_statements_go_by_an_index(seeded: Database) -> None:
    scans = []
    for file, name, parameters in HOT:
        statement = load_queries("classifeed_processor.store", file)[name]
        async with seeded.transaction() as tx:
            plan = "\n".join(row[0] for row in await (await tx.execute("EXPLAIN " + statement, parameters)).fetchall())
        scans += [f"{name}:\n{plan}" for table in re.findall(r"Seq Scan on (\w+)", plan)]
    assert not scans, "\n\n".join(scans)
